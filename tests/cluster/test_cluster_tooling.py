"""The parts of the cluster tooling that decide something: no root, no containerd, no network."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import pytest

from tools.cluster import (
    buildah,
    checks,
    cli,
    control_plane,
    images,
    lock,
    machine,
    network,
    node,
    oci,
    pki,
    process,
    tools,
)
from tools.cluster.node import Node
from tools.cluster.paths import REPO, STATE
from tools.cluster.shell import ClusterError, MissingError

SAVED = """\
*nat
:PREROUTING ACCEPT [0:0]
:KUBE-SERVICES - [0:0]
:CNI-HOSTPORT-DNAT - [0:0]
:DOCKER - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A KUBE-SERVICES -d 10.96.0.1/32 -j CNI-HOSTPORT-DNAT
-A DOCKER -i docker0 -j RETURN
COMMIT
*filter
:INPUT ACCEPT [0:0]
-A INPUT -s 192.0.2.1/32 -j DROP
COMMIT
"""


@pytest.fixture
def layout(tmp_path: Path) -> oci.Layout:
    return oci.Layout(tmp_path)


def add(layout: oci.Layout, image: str, content: bytes) -> oci.Descriptor:
    layout.add(image, oci.layer_of({"program": (content, 0o755)}), {"User": images.USER})
    found = layout.find(image)
    assert found
    return found


def unpacked(archive: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        return {member.name: file.read() if (file := members.extractfile(member)) else b"" for member in members}


def test_the_kubernetes_version_is_read_from_the_pins() -> None:
    go_mod = "require (\n\tk8s.io/kubectl v0.34.4 // indirect\n\tk8s.io/kubernetes v1.34.4 // indirect\n)\n"

    assert tools.kubernetes_version(go_mod) == "1.34.4"
    assert "gitVersion=v1.34.4 " in tools.ldflags("1.34.4")
    assert "gitMinor=34 " in tools.ldflags("1.34.4")


def test_pins_without_kubernetes_are_reported_by_name() -> None:
    with pytest.raises(ClusterError, match=r"no version of k8s\.io/kubernetes"):
        tools.kubernetes_version("module x\n")


@pytest.mark.parametrize(
    ("package", "name"),
    [("k8s.io/kubernetes/cmd/kubelet", "kubelet"), ("go.etcd.io/etcd/server/v3", "etcd")],
)
def test_a_build_says_which_program_it_builds(package: str, name: str) -> None:
    assert tools.label(package) == name


def test_two_caches_share_the_lock_of_the_one_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def locks(cache: str, *words: str) -> list[Path]:
        monkeypatch.setenv("QTJ_CACHE", str(tmp_path / cache))
        command: cli.Command = cli.parser().parse_args(words).run
        return [path() for path in command.locks]

    assert locks("a", "up")[0] == locks("b", "up")[0]
    assert locks("a", "tools") == [], "which an ordinary user may run"


def test_a_lock_is_held_by_one_at_a_time_also_when_its_file_is_removed(tmp_path: Path) -> None:
    path, inside, seen = tmp_path / "lock", [], []

    def work(number: int) -> None:
        with lock.held(path):
            inside.append(number)
            seen.append(len(inside))
            time.sleep(0.05)
            inside.remove(number)
            path.unlink()

    with ThreadPoolExecutor() as pool:
        list(pool.map(work, range(6)))

    assert seen == [1] * 6


def test_who_waits_for_a_lock_is_told_who_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, said = tmp_path / "lock", Queue[str]()
    monkeypatch.setattr(lock, "say", said.put)  # what one thread captures while another prints may be lost

    def wait() -> None:
        with lock.held(path):
            pass

    with ThreadPoolExecutor() as pool:
        with lock.held(path):
            waiting = pool.submit(wait)
            sentence = said.get(timeout=60)
            assert not waiting.done()
        waiting.result()

    assert "this one waits for it" in sentence
    assert f"(pid {os.getpid()}, in {Path.cwd()})" in sentence


def test_who_waits_for_a_lock_is_told_who_has_it_when_its_file_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, said = tmp_path / "lock", Queue[str]()
    monkeypatch.setattr(lock, "say", said.put)

    with ThreadPoolExecutor() as pool, path.open("a+") as opened_before:
        with lock.held(path):
            path.unlink()
            waiting = pool.submit(lock.take, opened_before, path)
            sentence = said.get(timeout=60)
        waiting.result()

    assert f"(pid {os.getpid()}, in {Path.cwd()})" in sentence


def test_image_versions_follow_the_project_and_the_pins() -> None:
    assert images.project_version('[project]\nversion = "0.2.1"\n') == "0.2.1"
    assert images.emulator_version("\tgithub.com/fsouza/fake-gcs-server v1.56.1 // indirect\n") == "1.56.1"


@pytest.mark.parametrize(("older", "newer"), [("go1.9.2", "1.24.0"), ("go1.26", "1.26.1"), ("1.24.9", "go1.24.10")])
def test_go_versions_compare_as_numbers(older: str, newer: str) -> None:
    assert checks.version(older) < checks.version(newer)


def test_an_ordinary_user_is_told_to_become_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert "needs root" in (checks.as_root() or "")


def test_a_container_without_network_namespaces_is_told_what_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(checks, "succeeds", lambda *_: False)

    with pytest.raises(MissingError, match="no network namespaces here, which pods need: use a virtual machine"):
        checks.require([checks.networks_can_be_apart])


def test_a_machine_without_go_is_told_which_go_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")

    assert "install Go 1." in (checks.go_is_new_enough() or "")


def test_without_apt_the_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")

    assert "containerd runc iptables" in (checks.packages_can_come() or "")


def test_a_foreign_route_into_our_networks_is_named_and_others_are_not() -> None:
    sentences = checks.overlapping(["default", "192.0.2.0/24", "10.244.3.0/24", "10.96.0.0/12", "10.0.0.0/16"])

    assert [sentence.split()[6].rstrip(",") for sentence in sentences] == ["10.244.3.0/24", "10.96.0.0/12"]


def test_an_older_python_gets_a_sentence_and_not_a_traceback() -> None:
    main = (REPO / "tools/cluster/__main__.py").read_text().replace("(3, 11)", "(99, 0)")

    ended = subprocess.run([sys.executable, "-c", main], capture_output=True, text=True)

    assert ended.returncode == 1
    assert "run it with Python 3.11 or newer" in ended.stderr


def test_an_unknown_image_is_refused_with_the_names_that_exist() -> None:
    command = [sys.executable, "-m", "tools.cluster", "images", "trainr"]

    ended = subprocess.run(command, capture_output=True, text=True, cwd=REPO)

    assert ended.returncode == 2
    assert "there is no image trainr: choose from gcs-emulator, operator, tensorboard, trainer" in ended.stderr


def test_every_component_can_be_recognised_as_ours_when_its_pid_file_is_lost() -> None:
    first = Node(1)
    alone = [*control_plane.control_plane(), *control_plane.networking(), *control_plane.neighbours()]
    components = [*alone, node.containerd(first), node.kubelet(first)]

    assert [c.name for c in components if not machine.is_ours(list(c.argv))] == []


@pytest.mark.parametrize(
    "argv",
    [
        ["kubelet", "--config=/var/lib/kubelet/config.yaml"],
        ["/usr/bin/containerd"],
        ["tail", "-f", f"{STATE}/logs/etcd.log"],
        [],
    ],
)
def test_processes_of_others_are_left_alone(argv: list[str]) -> None:
    assert not machine.is_ours(argv)


def test_only_the_apiserver_listens_beyond_the_loopback_address() -> None:
    components = [*control_plane.control_plane(), *control_plane.neighbours()]
    exposed = [c.name for c in components if "127.0.0.1" not in " ".join(c.argv)]

    assert exposed == []
    assert not [word for word in control_plane.apiserver().argv if word.startswith("--bind-address")]


def test_two_nodes_share_no_path_address_or_name() -> None:
    one, two = Node(1), Node(2)
    facts = ("name", "home", "bridge", "address", "subnet", "cgroup", "network", "socket")

    assert [fact for fact in facts if getattr(one, fact) == getattr(two, fact)] == []
    assert str(one.home) not in node.containerd_config(two)


def test_pods_have_no_route_out_of_the_cluster() -> None:
    config = json.loads(node.cni_config(Node(2)))

    assert config["plugins"][0]["ipam"]["routes"] == [{"dst": "10.244.0.0/16"}, {"dst": "10.96.0.0/16"}]
    assert "ipMasq" not in config["plugins"][0]


def test_removing_rules_touches_only_ours_and_empties_before_it_deletes() -> None:
    assert list(network.removal(SAVED)) == [
        "*nat",
        '-D PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES',
        "-F KUBE-SERVICES",
        "-F CNI-HOSTPORT-DNAT",
        "-X KUBE-SERVICES",
        "-X CNI-HOSTPORT-DNAT",
        "COMMIT",
    ]


def test_a_pod_network_is_recognised_in_the_note_of_the_cni_plugin() -> None:
    note = {"result": {"interfaces": [{"name": "qtj1"}, {"name": "eth0", "sandbox": "/var/run/netns/cni-1234"}]}}

    assert machine.sandboxes(note) == {"cni-1234"}
    assert machine.sandboxes({"kind": "half a note"}) == set()


def test_a_later_process_with_the_same_pid_is_not_ours() -> None:
    mine = process.Record(os.getpid(), process.start_time(os.getpid()) or "", [])

    assert mine.alive
    assert not process.Record(os.getpid(), "1", []).alive


def test_a_node_is_sent_only_what_it_lacks_smallest_first(layout: oci.Layout) -> None:
    image = add(layout, "localhost/a:1", b"x" * 10_000)
    manifest, config, layer = layout.blobs_of(image)

    assert oci.missing_blobs(layout, [image], [])[-1] == layer
    assert oci.missing_blobs(layout, [image], [layer, config]) == [manifest]


def test_a_bundle_names_the_images_in_full_and_leaves_out_what_is_present(layout: oci.Layout) -> None:
    image = add(layout, "localhost/a:1", b"program")
    layer = layout.blobs_of(image)[-1]
    out = io.BytesIO()

    oci.write_bundle(layout, [image], [layer], out)

    members = unpacked(out.getvalue())
    annotations = json.loads(members["index.json"])["manifests"][0]["annotations"]
    assert annotations == {"io.containerd.image.name": "localhost/a:1"}
    assert f"blobs/{layer.replace(':', '/')}" not in members
    assert len([name for name in members if name.startswith("blobs/")]) == 2


def test_the_same_files_make_the_same_layer() -> None:
    files = {"tmp/": (b"", 0o1777), "program": (b"x", 0o755)}

    assert oci.layer_of(files) == oci.layer_of(files)
    assert unpacked(oci.layer_of(files)) == {"tmp": b"", "program": b"x"}


def test_pruning_keeps_what_another_image_shares_and_forgets_what_lost_its_name(layout: oci.Layout) -> None:
    shared = layout.blobs_of(add(layout, "localhost/a:1", b"old"))
    add(layout, "localhost/b:1", b"old")
    add(layout, "localhost/c:1", b"replaced")
    (layout.root / "index.json").write_text((layout.root / "index.json").read_text().replace("localhost/c:1", ""))
    new = layout.blobs_of(add(layout, "localhost/a:1", b"new"))

    layout.prune()

    left = {f"sha256:{path.name}" for path in (layout.root / "blobs/sha256").iterdir()}
    assert left == {*shared, *new}


def test_a_dockerfile_must_start_from_one_image_that_we_can_make() -> None:
    one = "FROM docker.io/library/python:3.11-slim AS a\nFROM docker.io/library/python:3.11-slim\nCOPY --from=a /x /\n"

    assert buildah.base_name(one) == "docker.io/library/python:3.11-slim"
    with pytest.raises(ClusterError, match="one full name"):
        buildah.base_name(one + "FROM docker.io/library/alpine:3\n")


def test_a_kubeconfig_carries_its_certificates() -> None:
    config = json.loads(pki.kubeconfig("https://127.0.0.1:6443", b"ca", b"certificate", b"key"))

    assert config["clusters"][0]["cluster"]["certificate-authority-data"] == "Y2E="
    assert "/" not in json.dumps(config["users"])
