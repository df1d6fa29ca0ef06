"""What a real API server would refuse is refused here, with file, line, field and remedy."""

from pathlib import Path

import pytest

from tests.cli.good_job import GOOD
from tests.cli.qtj import qtj, validated

CONTAINER = "spec.template.spec.containers[0]"
LONG = "x" * 64


def told(folder: Path, good: str, bad: str) -> list[str]:
    answer = validated(folder, GOOD.replace(good, bad, 1))
    assert answer.code in {0, 2}
    return answer.sentences


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("namespace: A b", 'metadata.namespace: "A b" may have only a-z, 0-9 and -'),
        ("namespace: 12", 'metadata.namespace: this has to be text: write "12", in quotes'),
        ("labels: {a b: c}", 'metadata.labels.a b: "a b" is not a key'),
        ("labels: {a: b c}", 'metadata.labels.a: "b c" is not the value of a label'),
        (f"labels: {{a: {LONG}}}", "metadata.labels.a: this has 64 characters, and Kubernetes accepts 63: shorten it"),
        ("labels: {Team.x/a: b}", 'metadata.labels.Team.x/a: the part before the slash: "Team.x" may have only a-z'),
        ("labels: {when: on}", 'metadata.labels.when: this has to be text: write "on", in quotes'),
        ("labels: {size: 010}", 'metadata.labels.size: this has to be text: write "010", in quotes'),
        ("labels: {a/b/c: d}", "metadata.labels.a/b/c: the part before the slash"),
        ("annotations: {a b: c}", 'metadata.annotations.a b: "a b" is not a key'),
    ],
)
def test_metadata_that_kubernetes_refuses_is_told(folder: Path, written: str, sentence: str) -> None:
    sentences = told(folder, "  name: qcnn", f"  name: qcnn\n  {written}")

    assert [each.startswith(f"job.yaml:5: {sentence}") for each in sentences] == [True]


def test_annotations_are_too_large_for_kubernetes_and_for_the_operator(folder: Path) -> None:
    sentences = told(folder, "  name: qcnn", f"  name: qcnn\n  annotations: {{a: {'x' * 262_144}}}")

    assert sentences[0].startswith("job.yaml:5: metadata.annotations: these have 262,145 bytes")
    assert [" more than the 131,072 bytes as JSON that are read" in each for each in sentences] == [False, True]


@pytest.mark.parametrize(
    "written",
    [
        "labels: {when: 2024-01-01, time: '', example.com/a_b.C-d: x}",
        "annotations: {Example.COM/A: any text at all}",
        "namespace: 0lab",
    ],
)
def test_metadata_that_kubernetes_takes_is_fine(folder: Path, written: str) -> None:
    assert told(folder, "  name: qcnn", f"  name: qcnn\n  {written}") == []


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("12", "this has to be text, and in quotes it is no valid name: begin with a letter, as in job-12"),
        ("on", 'this has to be text: write "on", in quotes'),
        ("[a]", "this has to be text: put it in quotes"),
        ("q-", '"q-" must start with a letter and hold only a-z, 0-9 and -, and not end with -'),
    ],
)
def test_a_name_that_is_no_text_says_what_a_name_is(folder: Path, name: str, sentence: str) -> None:
    assert told(folder, "name: qcnn", f"name: {name}") == [f"job.yaml:4: metadata.name: {sentence}"]


@pytest.mark.parametrize(
    ("written", "path", "sentence"),
    [
        ("env: [{name: A=B, value: x}]", "env[0].name", '"A=B" may have only printable ASCII characters except ='),
        ("envFrom: [{prefix: A}]", "envFrom[0]", "name one source here: configMapRef or secretRef"),
        (
            "ports: [{containerPort: 1, protocol: tpc}]",
            "ports[0].protocol",
            "this has to be TCP, UDP or SCTP: write",
        ),
        ("imagePullPolicy: always", "imagePullPolicy", "this has to be Always, IfNotPresent or Never: write Always"),
        ('volumeMounts: [{name: a, mountPath: ""}]', "volumeMounts[0].name", 'the pod has no volume "a"'),
        ("command: [[a]]", "command[0]", "this has to be text"),
    ],
)
def test_a_container_that_kubernetes_refuses_is_told(folder: Path, written: str, path: str, sentence: str) -> None:
    sentences = told(folder, "          resources:", f"          {written}\n          resources:")
    if written.startswith("env:"):
        (folder / "job.yaml").write_text((folder / "job.yaml").read_text().partition("          env:\n")[0])
        sentences = qtj("validate", "job.yaml").sentences

    assert sentences[0].startswith(f"job.yaml:19: {CONTAINER}.{path}: {sentence}")


@pytest.mark.parametrize("name", ["my.env-name", "1", "a b", "{weird}", "~"])
def test_a_variable_may_have_any_printable_name_without_an_equals_sign(folder: Path, name: str) -> None:
    assert told(folder, "name: COLOR", f'name: "{name}"') == []


@pytest.mark.parametrize(
    ("written", "path", "sentence"),
    [
        ("volumes: [{name: A}]", "volumes[0].name", '"A" may have only a-z'),
        ("volumes: [{emptyDir: {}}]", "volumes[0].name", "this field is missing"),
        ("nodeSelector: {a b: c}", "nodeSelector.a b", '"a b" is not a key'),
        (
            "dnsPolicy: default",
            "dnsPolicy",
            "this has to be ClusterFirst, ClusterFirstWithHostNet, Default or",
        ),
        (
            "terminationGracePeriodSeconds: 9000000000000000000",
            "terminationGracePeriodSeconds",
            "this is 9000000000000000000, and the maximum is 315360000, which is ten years: lower it",
        ),
        ("tolerations: [null]", "tolerations[0]", "this field is missing"),
    ],
)
def test_a_pod_that_kubernetes_refuses_is_told(folder: Path, written: str, path: str, sentence: str) -> None:
    sentences = told(folder, "      containers:", f"      {written}\n      containers:")

    assert sentences[0].startswith(f"job.yaml:16: spec.template.spec.{path}: {sentence}")


@pytest.mark.parametrize("seconds", ["null", "-1", "0", "315360000"])
def test_a_grace_period_that_can_be_waited_for_is_fine(folder: Path, seconds: str) -> None:
    written = f"terminationGracePeriodSeconds: {seconds}"

    assert told(folder, "      containers:", f"      {written}\n      containers:") == []


def told_of(folder: Path, *documents: str) -> list[str]:
    return validated(folder, "---\n".join([GOOD, *(f"apiVersion: v1\n{each}\n" for each in documents)])).sentences


@pytest.mark.parametrize(
    ("kind", "written", "sentence"),
    [
        ("ConfigMap", "data: {epochs: 3}", 'data.epochs: this has to be text: write "3", in quotes'),
        ("ConfigMap", "data: {debug: no}", 'data.debug: this has to be text: write "no", in quotes'),
        ("ConfigMap", "data: {a: [b]}", "data.a: this has to be text: put it in quotes"),
        ("ConfigMap", "data: [a]", "data: this has to be a mapping: write its fields below it"),
        ("ConfigMap", "data: {a b: c}", 'data.a b: "a b" is not a key'),
        ("ConfigMap", "data: {..a: c}", 'data...a: "..a" is not a key'),
        (
            "ConfigMap",
            f"data: {{a: {'x' * 1_048_577}}}",
            "data: this is 1,048,577 bytes, and a ConfigMap",
        ),
        ("Secret", "stringData: {epochs: 3}", 'stringData.epochs: this has to be text: write "3", in quotes'),
        ("Secret", "data: {a: plain}", "data.a: values here are base64: write plain text in stringData"),
        ("Secret", "data: {a: 3}", 'data.a: this has to be text: write "3", in quotes'),
    ],
)
def test_data_that_kubernetes_refuses_are_told(folder: Path, kind: str, written: str, sentence: str) -> None:
    sentences = told_of(folder, f"kind: {kind}\nmetadata: {{name: it}}\n{written}")

    assert [each.startswith(f"job.yaml:28: {sentence}") for each in sentences] == [True]


@pytest.mark.parametrize(
    ("metadata", "sentence"),
    [
        ("{}", "metadata.name: give the ConfigMap a name"),
        ("[a]", "metadata.name: give the ConfigMap a name"),
        ("{name: 3}", 'metadata.name: this has to be text: write "3", in quotes'),
        ("{name: A}", 'metadata.name: "A" may have only a-z, 0-9, - and dots'),
    ],
)
def test_a_name_that_kubernetes_refuses_is_told(folder: Path, metadata: str, sentence: str) -> None:
    (told_,) = told_of(folder, f"kind: ConfigMap\nmetadata: {metadata}")

    assert told_.startswith(f"job.yaml:27: {sentence}")


def test_every_config_has_its_say(folder: Path) -> None:
    maps = [f"kind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{c: 1, d: 2}}" for name in "ab"]

    assert [line.split(":")[1] for line in told_of(folder, *maps)] == ["28", "28", "33", "33"]


def test_empty_and_numbered_keys_are_fine(folder: Path) -> None:
    secret = "kind: Secret\nmetadata: {name: it}\ndata: {1: aGk=, empty: }\nstringData: {a: b}"

    assert told_of(folder, secret, "kind: ConfigMap\nmetadata: {name: x.y}\ndata:\n") == []
