"""The order in which a cluster is started, and the reverse order.

    certificates
      bridge, cgroup          one each per node
        etcd, apiserver, controller-manager, scheduler
          containerd, pause image, kubelet   per node
            kube-proxy, CoreDNS
              node Ready
                PodGroup, the scheduler of gangs

`up` walks this order and at every step makes true what is not, so it starts, repairs and extends a cluster alike.
`down` does not walk it backwards from memory: it looks at what is there, so it also ends half a cluster.
"""

import json
import shutil
import time
from collections.abc import Collection

from . import buildah, checks, images, machine, network, node, process, tools
from .control_plane import control_plane, ensure_identities, neighbours, networking
from .node import Node
from .paths import KUBECONFIG, LOCK, STATE
from .shell import ClusterError, run, say, stage, wait_for

NODE_SECONDS = 90.0


def up(count: int) -> None:
    """Makes a cluster with at least this many nodes run."""
    if stale():
        say("what is left of an earlier cluster is dead: cleaning up first")
        down()
    if not STATE.exists():
        checks.check_nothing_in_the_way()
    machine.remember()
    nodes = [Node(number) for number in range(1, max(count, len(existing_nodes())) + 1)]
    for each in nodes:
        network.ensure_bridge(each)
        machine.make_cgroups(each)
    network.ensure_forwarding()
    ensure_identities()
    for component in control_plane():
        process.ensure(component)
    for each in nodes:
        start_node(each)
    for component in networking():
        process.ensure(component)
    wait_until_usable(nodes)
    kubectl("apply", "-f", str(tools.COSCHEDULING.home / tools.POD_GROUPS))
    for component in neighbours():
        process.ensure(component)


def start_node(each: Node) -> None:
    """Starts a node's components; the sandbox image is there before the kubelet asks for a sandbox."""
    node.ensure_identity(each)
    process.ensure(node.containerd(each))
    images.ensure_pause(each)
    process.ensure(node.kubelet(each))


def stop_node(each: Node) -> None:
    """Loses a node as a power cut would: nothing is drained, and the cluster has to notice. `up` brings it back."""
    for component in (node.kubelet(each), node.containerd(each)):
        process.stop(component.name, grace=0.0)
    machine.end_containers(each)


def press_node(each: Node) -> None:
    """Puts a node under pressure: its kubelet evicts one pod after another. `up` ends it."""
    process.ensure(node.kubelet(each, pressed=True))


def restart(names: Collection[str], gap: float) -> None:
    """Takes parts of the control plane away and brings them back, as an upgrade of a real cluster does.

    Args:
        names: Which; see `control_plane`.
        gap: Seconds for which they are away, at least.
    """
    chosen = [component for component in control_plane() if component.name in names]
    with stage(f"restarting {', '.join(component.name for component in chosen)}"):
        for component in reversed(chosen):
            process.stop(component.name, component.grace)
        time.sleep(gap)
        for component in chosen:
            process.start(component)


def wait_until_usable(nodes: list[Node]) -> None:
    """Returns when a pod can be created and will be scheduled.

    Raises:
        ClusterError: which node is not ready, and where to look.
    """
    wanted = {each.name for each in nodes}
    if not wait_for(lambda: ready_nodes() >= wanted, NODE_SECONDS, pause=0.3):
        raise ClusterError(f"not Ready: {sorted(wanted - ready_nodes())}; look at {STATE}/logs/node-*-kubelet.log")
    if not wait_for(lambda: bool(kubectl("get", "serviceaccounts", "--field-selector=metadata.name=default")), 30.0):
        raise ClusterError(f"no default service account appears; look at {STATE}/logs/kube-controller-manager.log")


def ready_nodes() -> set[str]:
    """The names of the nodes that say they are ready."""
    found = json.loads(kubectl("get", "nodes", "--output=json"))["items"]
    ready = {"type": "Ready", "status": "True"}
    return {
        str(each["metadata"]["name"])
        for each in found
        if any(ready.items() <= condition.items() for condition in each["status"].get("conditions", ()))
    }


def kubectl(*words: str) -> str:
    return run(tools.kubectl(), f"--kubeconfig={KUBECONFIG}", *words)


def existing_nodes() -> list[Node]:
    """The nodes whose folder is there."""
    return [Node(int(path.name.removeprefix("node-"))) for path in sorted(STATE.glob("node-*"))]


def stale() -> bool:
    """Whether there is a state, but nothing alive that belongs to it."""
    if machine.rebooted():
        return True
    return bool(list(machine.leftovers())) and not any(record.alive for record in process.running().values())


def down() -> None:
    """Ends everything and removes every trace but the cache.

    Raises:
        ClusterError: what could not be removed.
    """
    with stage("stopping the cluster"):
        for name in reversed(process.running()):
            process.stop(name)
        machine.end_orphans()
        machine.remove_cgroups()
        machine.unmount_below(STATE)
        machine.remove_network_namespaces()
        network.remove_bridges()
        network.remove_rules()
        network.forget_connections()
        machine.remove_log_links()
        machine.restore()
        buildah.clean_up()
        shutil.rmtree(STATE, ignore_errors=True)
    if remaining := list(machine.leftovers()):
        raise ClusterError("these are still there:\n" + "\n".join(f"  {thing}" for thing in remaining))
    LOCK.unlink(missing_ok=True)


def status() -> int:
    """Prints what runs; 0 if all of it does."""
    components = process.running()
    if not components:
        print("no cluster runs here: start one with `python3 -m tools.cluster up`")
        return 1
    for name, record in components.items():
        print(f"{name:24} {f'pid {record.pid}' if record.alive else 'dead, see ' + str(STATE / 'logs')}")
    print(kubectl("get", "nodes", "--output=wide"))
    for each in existing_nodes():
        print(f"images on {each.name}: {' '.join(sorted(images.on_node(each)))}")
    return 0 if all(record.alive for record in components.values()) else 1
