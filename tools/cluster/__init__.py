"""A real Kubernetes on this machine, from package registries alone: no Docker daemon, no image registry.

From what a person types down to what all share::

    cli          up, down, images, status: what a person types
    lifecycle    the order in which things start, and the opposite one
    images       our container images, built with `buildah`, imported into every node as `oci` folders
    checks       what must be true of the machine before anything is changed
    node         one worker: containerd, kubelet, a bridge
    control_plane  etcd, apiserver, controller-manager, scheduler, kube-proxy, CoreDNS
    pki, audit   certificates and kubeconfigs; the audit log
    process      a component: its command line, its files, its probe
    tools        the Kubernetes programs, built with Go from pinned modules
    network      bridges between pods
    machine      what a cluster changes on the machine, and how that is undone
    lock         one command at a time
    shell, paths what all of them share
"""
