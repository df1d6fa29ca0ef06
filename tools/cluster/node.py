"""One worker node: a containerd, a kubelet and a bridge of its own, so that one machine can be several nodes.

Stopping a node's two components is the loss of that node; its pods' processes end with `end_containers`.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from . import pki
from .control_plane import DNS_DOMAIN, GATEWAY, POD_CIDR, SERVER, SERVICE_CIDR
from .paths import STATE
from .pki import Identity
from .process import Component, answers, listens
from .tools import KUBERNETES, program

PAUSE_IMAGE = "localhost/pause:1"
CNI_PROGRAMS = "/usr/lib/cni"
_PRESSED: Mapping[str, object] = {
    "evictionSoft": {"memory.available": "99%"},
    "evictionSoftGracePeriod": {"memory.available": "1s"},
    "evictionMaxPodGracePeriod": 10,
    "evictionPressureTransitionPeriod": "5s",
}
KUBELET_PORT, HEALTH_PORT = 10250, 10248  # on the node's own address: two kubelets do not meet


@dataclass(frozen=True)
class Node:
    """A node, numbered from 1; everything else follows from the number."""

    number: int

    @property
    def name(self) -> str:
        return f"node-{self.number}"

    @property
    def home(self) -> Path:
        return STATE / self.name

    @property
    def bridge(self) -> str:
        return f"qtj{self.number}"

    @property
    def address(self) -> str:
        """Of the node and of its bridge: the gateway of its pods."""
        return f"10.244.{self.number - 1}.1"

    @property
    def subnet(self) -> str:
        return f"10.244.{self.number - 1}.0/24"

    @property
    def cgroup(self) -> str:
        return f"qtj-{self.name}"

    @property
    def network(self) -> str:
        """The name of its CNI network, which distinguishes its leftovers from others."""
        return f"qtj-{self.name}"

    @property
    def socket(self) -> Path:
        return self.home / "containerd.sock"

    @property
    def identity(self) -> Identity:
        return Identity(self.name, f"system:node:{self.name}", "system:nodes", (self.name, self.address))

    def ctr(self, *words: str) -> tuple[str, ...]:
        """A containerd command line for this node's images and containers."""
        return ("ctr", "--address", str(self.socket), "--namespace", "k8s.io", *words)


def ensure_identity(node: Node) -> None:
    pki.ensure_kubeconfig(node.home / "kubelet.kubeconfig", SERVER, node.identity)


def containerd(node: Node) -> Component:
    config = node.home / "containerd.toml"
    argv = (shutil.which("containerd") or "containerd", "--config", str(config))
    files = {config: containerd_config(node), node.home / "cni" / "10-qtj.conflist": cni_config(node)}
    return Component(f"{node.name}-containerd", argv, listens(node.socket), files)


def kubelet(node: Node, *, pressed: bool = False) -> Component:
    """The kubelet of a node; one that is pressed believes that its node has no memory left, and evicts pods."""
    config = node.home / "kubelet.json"
    resolv = node.home / "resolv.conf"
    argv = (
        program(KUBERNETES, "kubelet"),
        f"--config={config}",
        f"--kubeconfig={node.home}/kubelet.kubeconfig",
        f"--hostname-override={node.name}",
        f"--node-ip={node.address}",
        f"--root-dir={node.home}/kubelet",
    )
    text = json.dumps({**kubelet_config(node, resolv), **(_PRESSED if pressed else {})}, indent=1)
    files = {config: text, resolv: "# pods ask the cluster's DNS only\n"}
    return Component(f"{node.name}-kubelet", argv, answers(f"http://{node.address}:{HEALTH_PORT}/healthz"), files)


def containerd_config(node: Node) -> str:
    """A containerd that shares nothing with one of the system."""
    return f"""\
version = 2
root = "{node.home}/containerd"
state = "{node.home}/run"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs"]

[grpc]
  address = "{node.socket}"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  stream_server_address = "127.0.0.1"
  # Without it no sandbox starts where lowering oom_score_adj is forbidden, as in many virtual machines.
  restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "{CNI_PROGRAMS}"
  conf_dir = "{node.home}/cni"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
    Root = "{node.home}/runc"
"""


def cni_config(node: Node) -> str:
    """A bridge. Pods get routes to each other and to Services and to nothing else: no packet leaves this machine."""
    bridge = {
        "type": "bridge",
        "bridge": node.bridge,
        "isGateway": True,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "dataDir": f"{node.home}/addresses",
            "ranges": [[{"subnet": node.subnet, "gateway": node.address}]],
            "routes": [{"dst": POD_CIDR}, {"dst": SERVICE_CIDR}],
        },
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return json.dumps({"cniVersion": "0.4.0", "name": node.network, "plugins": [bridge, portmap]}, indent=1)


def kubelet_config(node: Node, resolv: Path) -> Mapping[str, object]:
    """What differs from the defaults, and why."""
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": node.address,
        "port": KUBELET_PORT,
        "healthzBindAddress": node.address,
        "healthzPort": HEALTH_PORT,
        "containerRuntimeEndpoint": f"unix://{node.socket}",
        "tlsCertFile": str(node.identity.certificate),
        "tlsPrivateKeyFile": str(node.identity.key),
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(pki.CA)},
        },
        "authorization": {"mode": "Webhook"},
        "clusterDNS": [GATEWAY],
        "clusterDomain": DNS_DOMAIN,
        "resolvConf": str(resolv),
        # The machine: no systemd to drive cgroups, perhaps cgroup v1 or swap.
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{node.cgroup}",
        "failCgroupV1": False,
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        # Everything the kubelet writes stays below our folder.
        "podLogsDir": f"{node.home}/pod-logs",
        "volumePluginDir": f"{node.home}/volume-plugins",
        # A test's disk is small and full, and no image can be pulled again.
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100,
        # Fast rather than frugal.
        "serializeImagePulls": False,
        "nodeStatusUpdateFrequency": "4s",
        "nodeLeaseDurationSeconds": 16,
        "kubeAPIQPS": 200,
        "kubeAPIBurst": 400,
        "eventRecordQPS": 0,
        "shutdownGracePeriod": "0s",
    }
