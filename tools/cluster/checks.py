"""What must be true of a machine before we touch it: one clear sentence for each thing that is not.

Debian packages are installed here, because that needs no decision of a person; a Go toolchain or root is one.
"""

import ipaddress
import json
import os
import platform
import re
import shutil
import socket
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from . import control_plane, tools
from .paths import cache_root
from .shell import MissingError, run, say, stage, succeeds

DEBIAN_PACKAGES: Mapping[str, str] = {  # what we look for -> the package that has it
    "containerd": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "socat": "socat",
    "ethtool": "ethtool",
    "ip": "iproute2",
    "openssl": "openssl",
    "debootstrap": "debootstrap",
    "buildah": "buildah",
    "skopeo": "skopeo",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "promtool": "prometheus",
    "chromium": "chromium",
}
COLD_GIB = 15  # sources, compilers' output and images, the first time
GIB = 2**30

Check: TypeAlias = "Callable[[], str | None]"  # None, or what is wrong and what to do


def require(checks: Iterable[Check]) -> None:
    """Looks for all problems before it names any.

    Raises:
        MissingError: what is missing, where, and what to do about it; a sentence for each.
    """
    problems = [sentence for check in checks if (sentence := check())]
    if problems:
        raise MissingError("\n".join(problems))


def on_linux() -> str | None:
    if platform.system() == "Linux":
        return None
    return f"the cluster needs Linux, this is {platform.system()}: use a Linux machine or a virtual machine"


def as_root() -> str | None:
    if os.geteuid() == 0:
        return None
    return f"the cluster needs root for containers and network links, you are user {os.geteuid()}: run it with sudo -E"


def go_is_new_enough() -> str | None:
    needed = max(go_version(path.read_text()) for path in tools.go_mods())
    wanted = ".".join(map(str, needed))
    if not shutil.which("go"):
        return f"go is not on the PATH: install Go {wanted} or newer; the Kubernetes programs are built from source"
    found = run("go", "env", "GOVERSION").strip()
    if version(found) >= needed:
        return None
    return f"{shutil.which('go')} is {found}: install Go {wanted} or newer, tools/cluster/tools/*/go.mod ask for it"


def packages_can_come() -> str | None:
    missing = missing_packages()
    if not missing or shutil.which("apt-get"):
        return None
    return f"there is no apt-get here: install what Debian calls {' '.join(missing)} with your own package manager"


def overlay_is_known() -> str | None:
    if "overlay" in Path("/proc/filesystems").read_text().split() or shutil.which("modprobe"):
        return None
    return "the kernel has no overlay file system: load it (modprobe overlay) or use another kernel"


def networks_can_be_apart() -> str | None:
    if os.geteuid() or succeeds("unshare", "--net", "true"):
        return None
    return "root can make no network namespaces here, which pods need: use a virtual machine or a privileged container"


def disk_has_room() -> str | None:
    root = cache_root()
    disk = next(folder for folder in (root, *root.parents) if os.access(folder, os.R_OK))
    free = shutil.disk_usage(disk).free / GIB
    if disk == root or free >= COLD_GIB:
        return None
    return f"{disk} has {free:.0f} GiB free, the cluster needs {COLD_GIB}: make room, or set QTJ_CACHE to another disk"


FOR_TOOLS: tuple[Check, ...] = (go_is_new_enough,)
ROOT_ON_LINUX: tuple[Check, ...] = (on_linux, as_root)
CHECKS: tuple[Check, ...] = (
    *ROOT_ON_LINUX,
    go_is_new_enough,
    packages_can_come,
    overlay_is_known,
    networks_can_be_apart,
    disk_has_room,
)


def check_nothing_in_the_way() -> None:
    """Before a fresh start: ports and networks that somebody else already uses.

    Raises:
        MissingError: which port or network, and what to do.
    """
    listing = run("ip", "-json", "route") if shutil.which("ip") else "[]"
    routes = (str(route.get("dst", "")) for route in json.loads(listing))
    if problems := [*taken_ports(control_plane.PORTS), *overlapping(routes)]:
        raise MissingError("\n".join(problems))


def taken_ports(ports: Iterable[int]) -> list[str]:
    return [
        f"port {port} on 127.0.0.1 is in use: stop what listens there (`ss -ltnp 'sport = :{port}'`), then try again"
        for port in ports
        if not _can_bind(port)
    ]


def _can_bind(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def overlapping(routes: Iterable[str]) -> list[str]:
    ours = [ipaddress.ip_network(net) for net in (control_plane.POD_CIDR, control_plane.SERVICE_CIDR)]
    return [
        f"this machine has a route to {route}, which the cluster needs for itself ({net}): remove that network first"
        for route in routes
        if route[:1].isdigit()
        for net in ours
        if net.overlaps(ipaddress.ip_network(route, strict=False))
    ]


def go_version(go_mod: str) -> tuple[int, ...]:
    """The version that a go.mod asks for."""
    found = re.search(r"^go (\S+)", go_mod, re.MULTILINE)
    return version(found[1]) if found else ()


def version(text: str) -> tuple[int, ...]:
    """`go1.26.8`, `1.26` -> numbers that compare."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def missing_packages() -> list[str]:
    """The Debian packages whose programs are not here yet."""
    return [package for program, package in DEBIAN_PACKAGES.items() if not shutil.which(program)]


def install(packages: list[str]) -> None:
    """Installs Debian packages; apt's own words appear only if it fails."""
    if not packages:
        return
    say(f"installing {' '.join(packages)}")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    with stage("apt-get"):
        run("apt-get", "update", env=env)
        run("apt-get", "install", "--yes", "--no-install-recommends", *packages, env=env)
