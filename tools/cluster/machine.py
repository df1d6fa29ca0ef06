"""What a cluster changes on the machine around it, and how each change is undone.

Nothing here trusts that a start went well or that `down` follows on the same boot: every function looks at the machine
as it is, recognises what is ours by name or path, and may be run again.
"""

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from . import process
from .node import Node
from .paths import STATE, write
from .shell import succeeds, wait_for

BEFORE = STATE / "machine-before.json"
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
CGROUPS = Path("/sys/fs/cgroup")
CNI_RESULTS = Path("/var/lib/cni/results")
NETNS = Path("/run/netns")

# What one program has by default.
SHARES = {"cpu.shares": 1024, "cpu.weight": 100}
# What the kubelet, the bridge plugin and we set; put back by `restore`.
SYSCTLS = (
    *("net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables", "net/ipv4/conf/all/route_localnet"),
    *("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops"),
    *("kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes"),
)
# Folders outside ours that kubelet, containerd and CNI plugins insist on; removed if they were not there before.
FOREIGN = tuple(
    Path(path)
    for path in (
        *("/var/lib/kubelet", "/var/lib/cni", "/var/log/containers", "/var/log/pods", "/run/containerd"),
        *("/run/netns", "/run/xtables.lock", "/run/flannel", "/opt/containerd", "/usr/libexec/kubernetes", "/etc/cni"),
    )
)


def remember() -> None:
    """Notes how the machine is before the first change."""
    if BEFORE.exists():
        return
    before = {
        "boot": BOOT_ID.read_text(),
        "sysctls": {name: text for name in SYSCTLS if (text := read_sysctl(name)) is not None},
        "absent": [str(path) for path in FOREIGN if not path.exists()],
    }
    write(BEFORE, json.dumps(before, indent=1))


def rebooted() -> bool:
    """Whether our state is from an earlier boot."""
    return BEFORE.exists() and json.loads(BEFORE.read_text())["boot"] != BOOT_ID.read_text()


def restore() -> None:
    """Restores settings and removes the folders that the cluster made."""
    if not BEFORE.exists():
        return
    before = json.loads(BEFORE.read_text())
    if before["boot"] == BOOT_ID.read_text():
        for name, text in before["sysctls"].items():
            set_sysctl(name, text)
    for path in map(Path, before["absent"]):
        if not in_use(path):
            remove(path)


def read_sysctl(name: str) -> str | None:
    try:
        return (Path("/proc/sys") / name).read_text().strip()
    except OSError:
        return None  # its kernel module is not loaded


def set_sysctl(name: str, text: str) -> None:
    if read_sysctl(name) not in (None, text):
        (Path("/proc/sys") / name).write_text(text)


def in_use(path: Path) -> bool:
    """Whether somebody answers below a folder: a containerd or kubelet that was installed after our start."""
    return any(process.listens(file)() for file in path.rglob("*") if file.is_socket())


def remove(path: Path) -> None:
    """Removes a file or a folder, but never walks into something that is still mounted there."""
    if any(mount.is_relative_to(path) for mount in mounts()):
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def make_cgroups(node: Node) -> None:
    """The cgroup below which a node's pods live, in every hierarchy of this machine.

    Beside other programs it counts as one for each processor: as one alone, its pods would starve on a busy machine.
    """
    for hierarchy in hierarchies():
        home = hierarchy / node.cgroup
        home.mkdir(exist_ok=True)
        for name in ("cpu.shares", "cpu.weight"):  # cgroup v1, v2
            if (home / name).exists():
                (home / name).write_text(str(SHARES[name] * (os.cpu_count() or 1)))
        for name in ("cpuset.cpus", "cpuset.mems"):  # cgroup v1 starts them empty, and then nothing may run there
            if (hierarchy / name).exists() and not (home / name).read_text().strip():
                (home / name).write_text((hierarchy / name).read_text())
        for level in (hierarchy, home):  # cgroup v2 hands its controllers down only on request
            if (level / "cgroup.subtree_control").exists() and hierarchy == CGROUPS:
                controllers = (level / "cgroup.controllers").read_text().split()
                (level / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in controllers))


def hierarchies() -> list[Path]:
    """Where cgroups are made: one folder with cgroup v2, one for each controller with v1."""
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS]
    return [path for path in CGROUPS.iterdir() if path.is_dir() and not path.is_symlink() and _is_hierarchy(path)]


def _is_hierarchy(path: Path) -> bool:
    return (path / "cgroup.procs").exists()


def end_containers(node: Node) -> None:
    """Ends every process of a node's pods and of containerd's shims for them."""
    process.end(_members(node.cgroup), grace=0.0)
    process.end([pid for pid, argv in process.command_lines().items() if is_ours(argv, node.home)], grace=0.0)


def remove_cgroups() -> None:
    """Ends what still runs in our cgroups and removes them, the innermost first."""
    process.end(_members("qtj-node-*"), grace=0.0)
    for path in _cgroups("qtj-node-*"):
        folders = [path, *(folder for folder in path.rglob("*") if folder.is_dir())]
        for folder in sorted(folders, key=lambda folder: len(folder.parts), reverse=True):
            wait_for(partial(_rmdir, folder), 5.0)


def _cgroups(pattern: str) -> list[Path]:
    return [path for hierarchy in hierarchies() for path in hierarchy.glob(pattern)]


def _members(pattern: str) -> list[int]:
    folders = (folder for cgroup in _cgroups(pattern) for folder in (cgroup, *cgroup.rglob("*")) if folder.is_dir())
    return sorted({int(pid) for folder in folders for pid in _read(folder / "cgroup.procs").split()})


def _read(path: Path) -> str:
    """The text of a file of the kernel; nothing if it is gone, as a cgroup may be while we look."""
    try:
        return path.read_text()
    except OSError:
        return ""


def _rmdir(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False  # the kernel has not let go of the last process yet
    return True


def end_orphans() -> None:
    """Ends processes of ours that no pid file knows: containerd's shims, and what a killed `up` left."""
    process.end([pid for pid, argv in process.command_lines().items() if is_ours(argv)], grace=1.0)


def is_ours(argv: list[str], home: Path = STATE) -> bool:
    """Whether a command line is of a component or a shim: each names a path below our state, or below a node's."""
    programs = ("containerd", "containerd-shim-runc-v2", "etcd", "kubelet", "kube-", "coredns", "coscheduling")
    return bool(argv) and Path(argv[0]).name.startswith(programs) and any(f"{home}/" in word for word in argv[1:])


def mounts() -> list[Path]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [Path(line.split()[4].encode().decode("unicode_escape")) for line in lines]


def unmount_below(*folders: Path) -> None:
    """Unmounts everything below the folders, the newest first."""
    for mount in reversed(mounts()):
        if any(mount.is_relative_to(folder) for folder in folders):
            succeeds("umount", "--lazy", mount)


def remove_network_namespaces() -> None:
    """The namespaces of our pods, as the CNI plugins wrote them down, and those notes."""
    for note in CNI_RESULTS.glob("qtj-node-*"):
        with contextlib.suppress(json.JSONDecodeError, OSError):
            for name in sandboxes(json.loads(note.read_text())):
                unmount_below(NETNS / name)
                (NETNS / name).unlink(missing_ok=True)
        container = note.name.removeprefix("qtj-node-").split("-", 1)[-1].removesuffix("-eth0")
        for related in (note, CNI_RESULTS / f"cni-loopback-{container}-lo"):
            related.unlink(missing_ok=True)


def sandboxes(note: Mapping[str, object]) -> set[str]:
    """The names of the network namespaces in a CNI result."""
    result = note.get("result")
    interfaces = result.get("interfaces", []) if isinstance(result, dict) else []
    return {Path(link["sandbox"]).name for link in interfaces if link.get("sandbox")}


def remove_log_links() -> None:
    """The kubelet links every container's log into a folder that it shares with other kubelets."""
    for link in Path("/var/log/containers").glob("*.log"):
        if link.is_symlink() and link.readlink().is_relative_to(STATE):
            link.unlink()


def leftovers() -> Iterable[str]:
    """What of ours is still there: what `down` must answer for."""
    yield from (f"process {pid}: {argv[0]}" for pid, argv in process.command_lines().items() if is_ours(argv))
    yield from (f"mount {mount}" for mount in mounts() if mount.is_relative_to(STATE))
    yield from (f"link {name}" for name in bridges())
    yield from (f"cgroup {path}" for path in _cgroups("qtj-node-*"))
    if STATE.exists():
        yield f"folder {STATE}"


def bridges() -> list[str]:
    return [link.name for link in Path("/sys/class/net").glob("qtj*") if link.name.removeprefix("qtj").isdigit()]
