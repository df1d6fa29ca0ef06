"""The control plane as a list of components: what runs once, however many nodes there are.

Everything listens on the loopback address, but for the apiserver, which pods must reach too, and CoreDNS, which only
they reach.
"""

import json
from collections.abc import Mapping, Sequence

from . import pki
from .audit import audit_flags, audit_policy
from .paths import KUBECONFIG, LOGS, STATE
from .pki import Identity
from .process import Component, answers
from .tools import ADDONS, COSCHEDULING, KUBERNETES, program

POD_CIDR = "10.244.0.0/16"
SERVICE_CIDR = "10.96.0.0/16"
API_IN_CLUSTER = "10.96.0.1"  # the first address of the service network, where Kubernetes puts itself
GATEWAY = "10.244.0.1"  # this machine, as the pods of the first node see it
DNS_DOMAIN = "cluster.local"

ETCD, ETCD_PEER, API, DNS_READY = 22379, 22380, 6443, 18181
CONTROLLERS, SCHEDULER, GANG_SCHEDULER, PROXY_HEALTH, PROXY_METRICS = 10257, 10259, 10260, 10256, 10249
PORTS = (ETCD, ETCD_PEER, API, DNS_READY, CONTROLLERS, SCHEDULER, GANG_SCHEDULER, PROXY_HEALTH, PROXY_METRICS)
SERVER = f"https://127.0.0.1:{API}"
ETCD_URL = f"http://127.0.0.1:{ETCD}"
AUDIT_LOG = LOGS / "audit.log"
AUDITED = "system:serviceaccount:qtj-system:qtj-operator"
"""Whose requests the API server records: tests/e2e compares them with what deploy/ allows."""

ADMIN = Identity("admin", "qtj-admin", "system:masters")
APISERVER = Identity(
    "apiserver",
    "kube-apiserver",
    names=(
        *("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"),
        *(f"kubernetes.default.svc.{DNS_DOMAIN}", "127.0.0.1", API_IN_CLUSTER, GATEWAY),
    ),
)
TO_KUBELETS = Identity("apiserver-to-kubelets", "apiserver-to-kubelets", "system:masters")
CLIENTS = (
    Identity("kube-controller-manager", "system:kube-controller-manager"),
    Identity("kube-scheduler", "system:kube-scheduler"),
    Identity("coscheduling", "coscheduling", "system:masters"),  # system:kube-scheduler may not read PodGroups
    Identity("kube-proxy", "system:kube-proxy"),
    Identity("coredns", "coredns", "system:masters"),
)

# A lost node is noticed in 20 s and its pods are evicted 30 s later, where a production cluster takes 40 s and 5 min:
# the tests that stop a node wait for both.
NODE_GRACE_SECONDS = 20
EVICTION_SECONDS = 30


def ensure_identities() -> None:
    """Certificates and kubeconfigs of the control plane and of the person in front of it."""
    pki.ensure_authority()
    for identity in (APISERVER, TO_KUBELETS):
        pki.ensure(identity)
    for identity in CLIENTS:
        pki.ensure_kubeconfig(STATE / f"{identity.name}.kubeconfig", SERVER, identity)
    pki.ensure_kubeconfig(KUBECONFIG, SERVER, ADMIN)


def control_plane() -> Sequence[Component]:
    """What must run before a node can join, in the order of starting."""
    return (etcd(), apiserver(), controller_manager(), scheduler())


def networking() -> Sequence[Component]:
    """What makes Services and their names work; it needs the apiserver and a node."""
    return (kube_proxy(), coredns())


def neighbours() -> Sequence[Component]:
    """What a platform team adds to a cluster; each needs its CRD."""
    return (coscheduling(),)


def etcd() -> Component:
    argv = (
        program(KUBERNETES, "etcd"),
        f"--data-dir={STATE}/etcd",
        "--unsafe-no-fsync",  # nothing here has to survive a power cut
        f"--listen-client-urls={ETCD_URL}",
        f"--advertise-client-urls={ETCD_URL}",
        f"--listen-peer-urls=http://127.0.0.1:{ETCD_PEER}",
        f"--initial-advertise-peer-urls=http://127.0.0.1:{ETCD_PEER}",
        f"--initial-cluster=default=http://127.0.0.1:{ETCD_PEER}",
        "--log-level=warn",
    )
    return Component("etcd", argv, answers(f"{ETCD_URL}/health"))


def apiserver() -> Component:
    policy = STATE / "audit-policy.json"
    argv = (
        program(KUBERNETES, "kube-apiserver"),
        f"--etcd-servers={ETCD_URL}",
        f"--secure-port={API}",
        f"--advertise-address={GATEWAY}",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged",
        f"--client-ca-file={pki.CA}",
        f"--tls-cert-file={APISERVER.certificate}",
        f"--tls-private-key-file={APISERVER.key}",
        f"--kubelet-client-certificate={TO_KUBELETS.certificate}",
        f"--kubelet-client-key={TO_KUBELETS.key}",
        f"--kubelet-certificate-authority={pki.CA}",
        "--kubelet-preferred-address-types=InternalIP",  # node names resolve nowhere: `kubectl logs` needs addresses
        f"--service-account-issuer=https://kubernetes.default.svc.{DNS_DOMAIN}",
        f"--service-account-key-file={pki.SERVICE_ACCOUNT_PUBLIC}",
        f"--service-account-signing-key-file={pki.SERVICE_ACCOUNT_KEY}",
        f"--default-not-ready-toleration-seconds={EVICTION_SECONDS}",
        f"--default-unreachable-toleration-seconds={EVICTION_SECONDS}",
        "--max-requests-inflight=1200",
        "--max-mutating-requests-inflight=600",
        "--profiling=false",
        *audit_flags(policy, AUDIT_LOG),
    )
    ready, files = answers(f"{SERVER}/readyz", ca=pki.CA), {policy: audit_policy(AUDITED)}
    return Component("kube-apiserver", argv, ready, files, grace=3.0)  # watches never end


def controller_manager() -> Component:
    argv = (
        program(KUBERNETES, "kube-controller-manager"),
        f"--kubeconfig={STATE}/kube-controller-manager.kubeconfig",
        "--bind-address=127.0.0.1",
        f"--secure-port={CONTROLLERS}",
        "--leader-elect=false",
        "--use-service-account-credentials",
        f"--root-ca-file={pki.CA}",
        f"--service-account-private-key-file={pki.SERVICE_ACCOUNT_KEY}",
        f"--service-cluster-ip-range={SERVICE_CIDR}",
        "--node-monitor-period=2s",
        f"--node-monitor-grace-period={NODE_GRACE_SECONDS}s",
        "--concurrent-gc-syncs=40",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--profiling=false",
    )
    return Component("kube-controller-manager", argv, answers(f"https://127.0.0.1:{CONTROLLERS}/healthz"))


def scheduler() -> Component:
    return _scheduler("kube-scheduler", program(KUBERNETES, "kube-scheduler"), SCHEDULER)


def coscheduling() -> Component:
    """A second scheduler, which places all pods of a PodGroup or none; its profile is what the plugin's README says."""
    only = [{"name": "Coscheduling"}]
    plugins = {"multiPoint": {"enabled": only}, "queueSort": {"enabled": only, "disabled": [{"name": "*"}]}}
    profile = {"schedulerName": "coscheduling", "plugins": plugins}
    return _scheduler("coscheduling", program(COSCHEDULING, "coscheduling"), GANG_SCHEDULER, profile)


def _scheduler(name: str, binary: str, port: int, *profiles: Mapping[str, object]) -> Component:
    path = STATE / f"{name}.json"
    config = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": f"{STATE}/{name}.kubeconfig", "qps": 500, "burst": 1000},
        "leaderElection": {"leaderElect": False},
        "profiles": profiles,
    }
    argv = (binary, f"--config={path}", "--bind-address=127.0.0.1", f"--secure-port={port}", "--profiling=false")
    return Component(name, argv, answers(f"https://127.0.0.1:{port}/healthz"), {path: json.dumps(config, indent=1)})


def kube_proxy() -> Component:
    argv = (
        program(KUBERNETES, "kube-proxy"),
        f"--kubeconfig={STATE}/kube-proxy.kubeconfig",
        "--proxy-mode=iptables",
        "--hostname-override=node-1",
        f"--cluster-cidr={POD_CIDR}",
        f"--healthz-bind-address=127.0.0.1:{PROXY_HEALTH}",
        f"--metrics-bind-address=127.0.0.1:{PROXY_METRICS}",
        # Leave the machine's own network settings alone.
        "--iptables-localhost-nodeports=false",
        "--conntrack-max-per-core=0",
        "--conntrack-tcp-timeout-established=0s",
        "--conntrack-tcp-timeout-close-wait=0s",
    )
    return Component("kube-proxy", argv, answers(f"http://127.0.0.1:{PROXY_HEALTH}/livez"))


def coredns() -> Component:
    path = STATE / "Corefile"
    argv = (program(ADDONS, "coredns"), "-conf", str(path))
    return Component("coredns", argv, answers(f"http://127.0.0.1:{DNS_READY}/ready"), {path: corefile()})


def corefile() -> str:
    """Cluster names are answered at once and never cached; every other name does not exist.

    Nothing is forwarded: pods have no way out, and a clear no beats a timeout.
    """
    return f"""\
{DNS_DOMAIN} in-addr.arpa {{
    bind {GATEWAY}
    errors
    ready 127.0.0.1:{DNS_READY}
    kubernetes {DNS_DOMAIN} in-addr.arpa {{
        kubeconfig {STATE}/coredns.kubeconfig
        ttl 0
    }}
}}
. {{
    bind {GATEWAY}
    template ANY ANY {{
        rcode NXDOMAIN
    }}
}}
"""
