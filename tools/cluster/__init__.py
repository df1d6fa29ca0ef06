"""A real Kubernetes on this machine, from package registries alone: no Docker daemon, no image registry.

Read the modules from the ground up::

    cli          up, down, images, status: what a person types
    lifecycle    the order in which things start, and the opposite one
    images       our container images, built with buildah, imported into every node
    node         one worker: containerd, kubelet, a bridge
    control_plane  etcd, apiserver, controller-manager, scheduler, kube-proxy, CoreDNS
    process      a component: its command line, its files, its probe
    tools        the Kubernetes programs, built with Go from pinned modules
    machine      what a cluster changes on the machine, and how that is undone
    lock         one command at a time
    shell, paths what all of them share
"""
