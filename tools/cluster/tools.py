"""The Kubernetes programs, built from the Go modules pinned in tools/*/go.mod.

Building is the slow part of a first start (about ten minutes on two cores). So each stage of the tests builds only the
programs that it runs, and the result is kept in the cache under the hash of the pins: a second start, or another
checkout with the same pins, builds nothing.
"""

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .paths import HERE, cache, digest
from .shell import ClusterError, run, stage

TOOLS = HERE / "tools"
RENAMED = {"server": "etcd", "cmd": "argocd"}  # go install names a program after its folder


@dataclass(frozen=True)
class Group:
    """One Go module of ours and the tools it pins.

    Attributes:
        name: of its folder.
        module: a module that it pins and that brings more than programs.
        files: what is kept of that module beside the programs.
    """

    name: str
    module: str = ""
    files: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        return TOOLS / self.name

    @property
    def home(self) -> Path:
        """Where its programs lie; the name changes with the pins, so a component restarts when they do."""
        return cache() / "tools" / f"{self.name}-{digest(self.inputs)}"

    @property
    def inputs(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if path.is_file())


KUBERNETES = Group("kubernetes")
GANGS = Group("gangs")
ADDONS = Group("addons")
POD_GROUPS = "manifests/coscheduling/crd.yaml"
COSCHEDULING = Group("coscheduling", "sigs.k8s.io/scheduler-plugins", (POD_GROUPS,))
PAUSE = Group("pause")
WORKFLOWS = Group("workflows")
HELM = Group("helm")
KSTATUS = Group("kstatus")
LUA = Group("lua")
KREW = Group("krew")
_CRDS = tuple(f"manifests/crds/{kind}-crd.yaml" for kind in ("application", "applicationset", "appproject"))
ARGOCD = Group("argocd", "github.com/argoproj/argo-cd/v3", _CRDS)
_STAGES = ("node/fast/node-initialize", "pod/fast/pod-ready", "pod/fast/pod-delete")
STAGES = tuple(f"kustomize/stage/{stage}.yaml" for stage in _STAGES)
KWOK = Group("kwok", "sigs.k8s.io/kwok", STAGES)
PEER_CRD, PEER_ROLE = "manifests/base/crds/kubeflow.org_tfjobs.yaml", "manifests/base/rbac/role.yaml"
PEER = Group("peer", "github.com/kubeflow/training-operator", (PEER_CRD, PEER_ROLE))
_ALL = (KUBERNETES, GANGS, ADDONS, COSCHEDULING, PAUSE, WORKFLOWS, HELM, KSTATUS, LUA, KREW, ARGOCD, KWOK, PEER)
GROUPS: Mapping[str, Group] = {group.name: group for group in _ALL}
LONG = frozenset({GANGS.name, ARGOCD.name, KWOK.name, PEER.name})
"""Groups that are built only if they are named: they take as long as all others together."""


@dataclass(frozen=True)
class Needs:
    """What a stage of the tests runs.

    Attributes:
        tests: those that need the programs, for the sentence of a machine that cannot build them.
        programs: their names by group; all of the group where none is named.
    """

    tests: str
    programs: Mapping[Group, Sequence[str]]


NEEDS: Mapping[str, Needs] = {
    "unit": Needs(
        "the tests that need a kube-apiserver, kubectl, Helm, krew, kstatus, Lua or actionlint",
        {
            KUBERNETES: ("etcd", "kube-apiserver", "kubectl"),
            **dict.fromkeys((WORKFLOWS, HELM, KSTATUS, LUA, KREW), ()),
        },
    ),
    "long": Needs(
        "the tests with Argo CD and with gangs of Kubernetes",
        {KUBERNETES: ("kube-controller-manager",), ARGOCD: (), GANGS: ()},
    ),
    "trainer": Needs("the trainer's tests with an object store", {ADDONS: ("fake-gcs-server",)}),
    "cluster": Needs("the cluster and end-to-end tests", dict.fromkeys((KUBERNETES, ADDONS, COSCHEDULING, PAUSE), ())),
}


def go_mods() -> list[Path]:
    return [group.folder / "go.mod" for group in GROUPS.values()]


def go_mod_of(group: Group) -> str:
    return (group.folder / "go.mod").read_text()


def program(group: Group, name: str) -> str:
    """The path of a built program."""
    return str(group.home / "bin" / name)


def kubectl() -> str:
    return program(KUBERNETES, "kubectl")


def actionlint() -> str:
    return program(WORKFLOWS, "actionlint")


def helm() -> str:
    return program(HELM, "helm")


def named(names: Sequence[str] = ()) -> Mapping[Group, Sequence[str]]:
    """All programs of the named groups, or of all but those in `LONG`."""
    return dict.fromkeys((GROUPS[name] for name in names or [name for name in GROUPS if name not in LONG]), ())


def build_for(name: str) -> None:
    """Builds what a stage of the tests needs."""
    for group, programs in NEEDS[name].programs.items():
        build(group, programs)


def lacking(group: Group, names: Sequence[str] = ()) -> list[str]:
    """The packages of those programs of a group that the cache lacks: of all, or of those that are named."""
    wanted = [package for package in packages(group) if not names or label(package) in names]
    return [package for package in wanted if not Path(program(group, label(package))).exists()]


def build(group: Group, names: Sequence[str] = ()) -> None:
    """Builds a group's programs, or those that are named, unless the cache has them."""
    missing = lacking(group, names)
    if not missing:
        return
    with stage(f"fetching the sources of the {group.name} programs"):
        run("go", "list", "-deps", *missing, cwd=group.folder)
    for path in group.files:
        keep(group, path)
    for package in missing:
        with stage(f"building {label(package)} with Go"):
            compile_program(group, package)


def compile_program(group: Group, package: str) -> None:
    """Builds one program, and puts it into its place when it is whole.

    Building one after the other takes little longer than all at once, and says what the minutes are spent on.
    """
    draft = group.home / "draft"
    shutil.rmtree(draft, ignore_errors=True)
    env = {**os.environ, "CGO_ENABLED": "0", "GOBIN": str(draft)}
    pins = GANGS if group is GANGS else KUBERNETES  # what the program is, or else what it is for
    flags = ("-trimpath", "-buildvcs=false", "-ldflags", ldflags(kubernetes_version(go_mod_of(pins))))
    run("go", "install", *flags, package, cwd=group.folder, env=env)
    (built,) = draft.iterdir()
    target = Path(program(group, label(package)))
    target.parent.mkdir(parents=True, exist_ok=True)
    built.replace(target)
    draft.rmdir()


def keep(group: Group, path: str) -> None:
    """Copies a file of a module out of Go's cache, which a machine that has our cache need not have."""
    source = Path(run("go", "list", "-m", "-f", "{{.Dir}}", group.module, cwd=group.folder).strip())
    (group.home / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source / path, group.home / path)


def packages(group: Group) -> list[str]:
    """What is built in a group: the tools that its go.mod names, or else its own program."""
    go_mod = go_mod_of(group)
    blocks = re.findall(r"^tool \(\n(.*?)^\)", go_mod, re.MULTILINE | re.DOTALL)
    alone = re.findall(r"^tool ([^(\s]+)$", go_mod, re.MULTILINE)
    return [*" ".join(blocks).split(), *alone] or [f"quantumtraining.dev/tools/cluster/tools/{group.name}"]


def label(package: str) -> str:
    """What a package's program is called: as its folder, but for a version at the end."""
    name = next(part for part in reversed(package.split("/")) if not re.fullmatch(r"v\d+", part))
    return RENAMED.get(name, name)


def kubernetes_version(go_mod: str | None = None) -> str:
    """The Kubernetes version that the pins name, as in `1.34.4`."""
    return pinned(go_mod if go_mod is not None else go_mod_of(KUBERNETES), "k8s.io/kubernetes")


def pinned(go_mod: str, module: str) -> str:
    """The version of a module that a go.mod requires.

    Raises:
        ClusterError: it requires none.
    """
    found = re.search(rf"^\s*{re.escape(module)} v(\d+\.\d+\.\d+)", go_mod, re.MULTILINE)
    if not found:
        raise ClusterError(f"tools/cluster/tools/*/go.mod require no version of {module}: add it back")
    return found[1]


def ldflags(kubernetes: str) -> str:
    """Tells the programs their version: built from a module proxy, they cannot ask git."""
    major, minor, _ = kubernetes.split(".")
    facts = {"gitVersion": f"v{kubernetes}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return "-s -w " + " ".join(f"-X k8s.io/component-base/version.{key}={value}" for key, value in facts.items())
