"""The rules of Kubernetes about containers and pods that the types of fields do not hold, each at its bounds."""

from typing import Any

import pytest

from qtj.rules.pod import broken_container, broken_metadata, broken_resources, broken_rules

MISSING = "this field is missing"


def broken(**container: Any) -> list[tuple[tuple[int | str, ...], str]]:
    """The rules that a container of a pod with one volume breaks."""
    return list(broken_container({"name": "trainer", **container}, ["data"]))


def paths(**container: Any) -> list[tuple[int | str, ...]]:
    return [path for path, _ in broken(**container)]


def of_pod(**spec: Any) -> list[tuple[tuple[int | str, ...], str]]:
    return [(path[1:], what) for path, what in broken_rules({"spec": spec})]


@pytest.mark.parametrize("port", [1, 80, 65_535])
@pytest.mark.parametrize("field", ["containerPort", "hostPort"])
def test_a_port_within_the_bounds_is_fine(field: str, port: int) -> None:
    assert broken(ports=[{"containerPort": 80, field: port}]) == []


@pytest.mark.parametrize("port", [-1, 65_536])
@pytest.mark.parametrize("field", ["containerPort", "hostPort"])
def test_a_port_beyond_the_bounds_is_refused(field: str, port: int) -> None:
    assert broken(ports=[{"containerPort": 80}, {"containerPort": 80, field: port}]) == [
        (("ports", 1, field), f"a port must be between 1 and 65535, and this is {port}")
    ]


def test_a_host_port_of_zero_is_none_and_a_container_port_of_zero_is_wrong() -> None:
    assert broken(ports=[{"containerPort": 80, "hostPort": 0}]) == []
    assert paths(ports=[{"containerPort": 0}]) == [("ports", 0, "containerPort")]


def test_ports_without_names_are_not_called_the_same() -> None:
    assert broken(ports=[{"containerPort": 80}, {"containerPort": 81}, {"containerPort": 82, "name": ""}]) == []


def test_each_port_with_a_name_that_is_taken_is_refused() -> None:
    ports = [{"containerPort": number, "name": name} for number, name in enumerate(("a", "b", "a", "b"), start=1)]

    assert [(path, what[:40]) for path, what in broken(ports=ports)] == [
        (("ports", 2, "name"), 'two ports of the container are called "a'),
        (("ports", 3, "name"), 'two ports of the container are called "b'),
    ]


@pytest.mark.parametrize("field", ["command", "args"])
def test_a_nul_is_found_in_each_word(field: str) -> None:
    found = broken(**{field: ["a", "b\0", None, "\0"]})

    assert [path for path, _ in found] == [(field, 1), (field, 3)]
    assert all(what.startswith("this has a NUL character, which cannot be passed") for _, what in found)


def test_a_space_around_the_name_of_an_image_is_refused() -> None:
    assert paths(image=" a") == paths(image="a\n") == [("image",)]


@pytest.mark.parametrize(
    "image",
    [
        "a",
        "REGISTRY/qtj-trainer:0.2.0",
        "localhost:5000/lab/qtj-trainer",
        "[::1]:5000/a",
        "registry.example/a/b__c.d--e:V1.0_x",
        "registry.example/a@sha256:" + "0" * 64,
        "registry.example/a:1@sha256:" + "0" * 64,
    ],
)
def test_a_name_of_an_image_that_a_kubelet_can_read_is_fine(image: str) -> None:
    assert broken(image=image) == []


@pytest.mark.parametrize(
    "image",
    [
        "registry.example/a b",
        "registry.example/Trainer:1",
        "trainer:",
        "trainer:-1",
        "trainer@sha256:00",
        "https://registry.example/a",
        "registry.example//a",
        "a/",
        "$(IMAGE)",
        "trainer:" + "x" * 129,
    ],
)
def test_a_name_of_an_image_that_no_kubelet_can_read_is_refused(image: str) -> None:
    ((path, what),) = broken(image=image)

    assert path == ("image",)
    assert "is no name of an image: write REGISTRY/NAME:TAG" in what


@pytest.mark.parametrize("more", [{"privileged": True}, {"capabilities": {"add": ["CAP_SYS_ADMIN"]}}])
def test_more_rights_without_escalation_are_refused(more: dict[str, Any]) -> None:
    where = ("securityContext", "allowPrivilegeEscalation")

    assert paths(securityContext={"allowPrivilegeEscalation": False, **more}) == [where]
    assert paths(securityContext={"allowPrivilegeEscalation": True, **more}) == paths(securityContext=more) == []


def test_a_pod_without_any_dns_needs_name_servers() -> None:
    assert [path for path, _ in of_pod(dnsPolicy="None")] == [("dnsPolicy",)]
    assert of_pod(dnsPolicy="None", dnsConfig={"nameservers": ["10.96.0.10"]}) == []


def test_on_the_network_of_the_node_a_port_of_the_host_is_that_of_the_container() -> None:
    container = {"name": "trainer", "ports": [{"containerPort": 80, "hostPort": 81}]}

    assert [path for path, _ in of_pod(containers=[container], hostNetwork=True)] == [
        ("containers", 0, "ports", 0, "hostPort")
    ]
    assert of_pod(containers=[container]) == []


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ({"name": "A", "value": "x"}, []),
        ({"name": "A", "value": "", "valueFrom": {"fieldRef": {}}}, []),
        ({"name": "A", "valueFrom": None}, []),
        ({"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}, []),
        ({"name": "A", "valueFrom": {"fieldRef": {}, "secretKeyRef": None}}, []),
        ({"name": "A", "valueFrom": {"fieldRef": {}, "resourceFieldRef": {}}}, [("env", 0, "valueFrom")]),
        (
            {"name": "A", "valueFrom": {"secretKeyRef": {}}},
            [("env", 0, "valueFrom", "secretKeyRef", "name"), ("env", 0, "valueFrom", "secretKeyRef", "key")],
        ),
        (
            {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "", "key": "k"}}},
            [("env", 0, "valueFrom", "configMapKeyRef", "name")],
        ),
        ({"name": "A", "value": "a\0", "valueFrom": {}}, [("env", 0, "value"), *[("env", 0, "valueFrom")] * 2]),
    ],
)
def test_a_variable_has_one_value_or_one_whole_source(variable: dict[str, Any], expected: list[Any]) -> None:
    assert paths(env=[variable]) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"configMapRef": {"name": "c"}}, []),
        ({"secretRef": {"name": "s"}, "prefix": "QTJ_", "configMapRef": None}, []),
        ({"secretRef": {"name": "s"}, "configMapRef": {"name": "c"}}, [("envFrom", 0)]),
        ({"secretRef": {}}, [("envFrom", 0, "secretRef", "name")]),
        ({"configMapRef": {"name": ""}}, [("envFrom", 0, "configMapRef", "name")]),
    ],
)
def test_variables_are_taken_from_one_named_source(source: dict[str, Any], expected: list[Any]) -> None:
    assert paths(envFrom=[source]) == expected


@pytest.mark.parametrize(
    ("container", "path", "sentence"),
    [
        (
            {"ports": [{"containerPort": 1, "protocol": "HTTP"}]},
            ("ports", 0, "protocol"),
            "this has to be TCP, UDP or SCTP",
        ),
        (
            {"ports": [{"containerPort": 1, "name": "80"}]},
            ("ports", 0, "name"),
            '"80" may have only a-z, 0-9 and single - between them, and must have a letter',
        ),
        ({"ports": [{"name": "web"}]}, ("ports", 0, "containerPort"), MISSING),
        (
            {"env": [{"name": "A=", "value": "x"}]},
            ("env", 0, "name"),
            '"A=" may have only printable ASCII characters except =: rename the variable',
        ),
        (
            {"env": [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {}}}]},
            ("env", 0, "valueFrom"),
            "a variable has either value or valueFrom: remove one of them",
        ),
        (
            {"env": [{"name": "A", "valueFrom": {}}]},
            ("env", 0, "valueFrom"),
            "name one source here: fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef or fileKeyRef",
        ),
        ({"envFrom": [{}]}, ("envFrom", 0), "name one source here: configMapRef or secretRef"),
        (
            {"envFrom": [{"secretRef": {"name": "s"}, "prefix": "="}]},
            ("envFrom", 0, "prefix"),
            '"=" may have only printable ASCII characters except =: rename the variable',
        ),
        (
            {"resources": {"limits": {"cpu": "x"}}},
            ("resources", "limits", "cpu"),
            '"x" is not a quantity: write for example 500m, 2 or 2Gi',
        ),
        (
            {"imagePullPolicy": "Sometimes"},
            ("imagePullPolicy",),
            "this has to be Always, IfNotPresent or Never",
        ),
        (
            {"image": "a "},
            ("image",),
            "the name of an image must not begin or end with a space: remove it",
        ),
        (
            {"name": "A"},
            ("name",),
            '"A" may have only a-z, 0-9 and -, and has to begin and end with a letter or digit',
        ),
    ],
)
def test_each_rule_names_its_field_and_what_it_takes(
    container: dict[str, Any], path: tuple[int | str, ...], sentence: str
) -> None:
    assert list(broken_container({"name": "trainer", **container}, [])) == [(path, sentence)]


@pytest.mark.parametrize("protocol", ["TCP", "UDP", "SCTP", "", None])
def test_a_protocol_that_kubernetes_knows_is_fine(protocol: str | None) -> None:
    assert broken(ports=[{"containerPort": 1, "protocol": protocol}]) == []


def test_mounts_are_of_volumes_that_exist_each_at_a_place_of_its_own() -> None:
    mounts = [
        {"name": "data", "mountPath": "/data"},
        {"name": "data", "mountPath": "/data"},
        {"name": "date", "mountPath": "/more"},
        {"name": "data"},
        {},
    ]

    assert broken(volumeMounts=mounts) == [
        (
            ("volumeMounts", 1, "mountPath"),
            "two volumes are mounted at /data: mount one of them elsewhere",
        ),
        (("volumeMounts", 2, "name"), 'the pod has no volume "date": add it to volumes'),
        (("volumeMounts", 3, "mountPath"), MISSING),
        (("volumeMounts", 4, "name"), MISSING),
        (("volumeMounts", 4, "mountPath"), MISSING),
    ]


def test_words_of_a_fixed_set_are_checked_where_they_are_written() -> None:
    assert paths(imagePullPolicy="always", terminationMessagePolicy="Logs") == [
        ("imagePullPolicy",), ("terminationMessagePolicy",),
    ]  # fmt: skip
    assert broken(imagePullPolicy="", terminationMessagePolicy="FallbackToLogsOnError") == []


@pytest.mark.parametrize("name", ["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "hugepages-2Mi"])
def test_a_resource_that_kubernetes_knows_is_fine(name: str) -> None:
    assert list(broken_resources({"limits": {name: "2"}, "requests": {name: "2"}})) == []


def test_a_request_may_be_the_limit_and_not_above_it_whatever_their_units() -> None:
    assert list(broken_resources({"limits": {"memory": "1Gi"}, "requests": {"memory": "1024Mi"}})) == []
    assert list(broken_resources({"limits": {"cpu": "500m"}, "requests": {"cpu": 1}})) == [
        (("requests", "cpu"), "1 is more than the limit of 500m: lower it")
    ]


@pytest.mark.parametrize("quantity", ["two", "-1", "1GB", "", "1 Gi"])
def test_what_is_no_quantity_is_quoted_and_compared_with_nothing(quantity: str) -> None:
    found = list(broken_resources({"limits": {"memory": quantity}, "requests": {"memory": "9Gi"}}))

    assert found == [(("limits", "memory"), f'"{quantity}" is not a quantity: write for example 500m, 2 or 2Gi')]


def test_a_misspelt_resource_is_named_in_requests_and_in_limits() -> None:
    assert list(broken_resources({"limits": {"memry": "1Gi"}, "requests": {"memry": "1Gi"}})) == [
        ((field, "memry"), "Kubernetes does not have this resource: write memory") for field in ("limits", "requests")
    ]


def test_null_resources_are_none() -> None:
    assert list(broken_resources({"limits": None, "requests": None})) == []


def test_all_annotations_together_are_measured_in_bytes() -> None:
    most = 256 * 1024
    keys = {"a": "x" * (most // 2 - 1), "b": "ä" * (most // 4 - 1)}

    assert list(broken_metadata({"annotations": {**keys, "c": ""}})) == []
    assert list(broken_metadata({"annotations": {**keys, "c": "x"}})) == [
        (("annotations",), "these have 262,145 bytes, and Kubernetes accepts 262,144: shorten them")
    ]


@pytest.mark.parametrize(
    "metadata", [None, [], "x", {"labels": [], "annotations": 3}, {"labels": {"a": "b", "b c": 2}}]
)
def test_metadata_of_another_type_are_left_to_the_check_of_types(metadata: Any) -> None:
    assert list(broken_metadata(metadata)) == []


def test_a_template_without_a_spec_breaks_no_rule() -> None:
    assert list(broken_rules(None)) == list(broken_rules({"spec": None})) == []


def test_labels_of_a_template_are_those_of_its_metadata() -> None:
    [(path, _)] = broken_rules({"metadata": {"labels": {"a b": "c"}}})

    assert path == ("metadata", "labels", "a b")


def test_containers_of_both_kinds_have_one_set_of_names() -> None:
    found = of_pod(containers=[{"name": "a"}, {"name": "b"}, {"name": "b"}], initContainers=[{"name": "a"}, {}, {}])

    assert [(path, what[:39]) for path, what in found] == [
        (("containers", 2, "name"), 'two containers of the pod are called "b'),
        (("initContainers", 0, "name"), 'two containers of the pod are called "a'),
    ]


def test_a_volume_is_named_once_and_of_one_kind() -> None:
    found = of_pod(
        volumes=[{"name": "a", "emptyDir": {}, "secret": None}, {"name": "a", "secret": {}, "emptyDir": {}, "nfs": {}}]
    )

    assert found == [
        (("volumes", 1, "name"), 'two volumes of the pod are called "a": rename one of them'),
        (
            ("volumes", 1, "nfs"),
            "a volume has one kind, and this one has emptyDir and nfs and secret: keep one",
        ),
    ]
