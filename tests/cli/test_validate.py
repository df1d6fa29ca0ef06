"""Bad input, also in the template of inference: file, line and field, one sentence, exit code 2."""

from pathlib import Path

import pytest
import yaml

from tests.cli.good_job import EITHER, GOOD, INFERENCE
from tests.cli.qtj import qtj, validated
from tests.jobs import job_object


def test_a_good_file_is_valid(folder: Path) -> None:
    answer = validated(folder, GOOD)

    assert (answer.code, answer.output) == (0, "job.yaml: qcnn is valid\n")


def test_a_job_that_the_operator_would_not_read_as_kubectl_apply_stores_it_is_not_valid(folder: Path) -> None:
    answer = validated(folder, f"{GOOD}          args: [{'x' * 70_000}]\n")

    assert answer.code == 2
    assert "spec: the job has more than the 131,072 bytes as JSON that are read: make it smaller" in answer.errors
    assert "job.yaml:5" in answer.errors


@pytest.mark.parametrize(
    ("good", "bad", "sentence"),
    [
        ("name: qcnn", "name: Qcnn_1", 'job.yaml:4: metadata.name: "Qcnn_1" must start with a letter and hold only'),
        (
            "  circuit:",
            "  profiler: {captures: [{elapsed: 5}]}\n  circuit:",
            "job.yaml:7: spec.profiler.captures[0].elapsed: must be a whole number with the unit s, m or h",
        ),
        ("gs://bucket/qcnn", "12", "job.yaml:10: spec.artifacts.uri: must begin with gs://"),
        (
            "  name: qcnn",
            "  name: qcnn\n  labels: {kueue.x-k8s.io/queue-name: gpus}",
            "job.yaml:5: metadata.labels.kueue.x-k8s.io/queue-name: the label kueue.x-k8s.io/queue-name of a job",
        ),
        ("name: qcnn", f"name: {'q' * 52}", "job.yaml:4: metadata.name: a name may have at most 51 characters"),
        ("  name: qcnn", "  labels: {}", "job.yaml:3: metadata.name: give the job a name"),
        ("MultiWorkerMirrored", "Magic", "job.yaml:6: spec.strategy: this has to be MultiWorkerMirrored, Para"),
        ("qubits: 8", "qubits: many", "job.yaml:8: spec.circuit.qubits: this has to be a whole number"),
        ("qubits: 8", "qubits: 30", "job.yaml:16: 30 qubits need at least 24 GiB per replica"),
        ("gs://bucket/qcnn", "s3://bucket/qcnn", "job.yaml:10: spec.artifacts.uri: must begin with gs://"),
        ("gs://bucket/qcnn", "file:///data", "job.yaml:10: artifacts.uri file:///data is on no volume"),
        ("replicas: 2", "replicas: 0", "job.yaml:13: spec.replicaSpecs.Worker.replicas: 0 is too small"),
        ("  strategy:", "  strateggy:", "job.yaml:6: spec.strateggy: there is no such field"),
        (
            "replicas: 2",
            "replicas: 2\n      replicaService: Shared",
            "job.yaml:14: spec.replicaSpecs.Worker.replicaService: there is no such field: write it in spec",
        ),
        (
            "spec:",
            "replicaService: Shared\nspec:",
            "job.yaml:5: replicaService: there is no such field: write it in spec",
        ),
        (
            "  name: qcnn",
            "  name: qcnn\n  replicaService: Shared",
            "job.yaml:5: metadata.replicaService: Kubernetes does not have this field: write it in spec",
        ),
        (
            "      containers:",
            "      replicaService: Shared\n      containers:",
            "job.yaml:16: spec.template.spec.replicaService: Kubernetes does not have this field: write it in spec",
        ),
        (
            "  name: qcnn",
            "  generateName: qcnn-",
            "job.yaml:4: metadata.generateName: write name here: the names of pods",
        ),
        (
            "    Worker:\n      replicas: 2",
            "    Worker:",
            "job.yaml:12: spec.replicaSpecs.Worker: this is empty: write {} for a role that sets no field",
        ),
        (
            "  strategy:",
            "  ttlSecondsAfterFinished: 9\n  strategy:",
            "job.yaml:6: spec.ttlSecondsAfterFinished: there is no such field: write it in spec.runPolicy",
        ),
        (
            "          image",
            "          imagee: a\n          image",
            "job.yaml:18: spec.template.spec.containers[0].imagee: Kub",
        ),
        (
            "      containers:",
            "      nodeSelectr: {}\n      containers:",
            "job.yaml:16: spec.template.spec.nodeSelectr: Kub",
        ),
        ("value: blue", "valu: blue", "job.yaml:23: spec.template.spec.containers[0].env[0].valu: Kubernetes does not"),
        (
            "value: blue",
            "value: 8",
            'job.yaml:23: spec.template.spec.containers[0].env[0].value: this has to be text: write "8", in quotes',
        ),
        (
            "          resources",
            "          args: [train, --seed, 1]\n          resources",
            'job.yaml:19: spec.template.spec.containers[0].args[2]: this has to be text: write "1", in quotes',
        ),
        ("    Worker:", "    worker:", "job.yaml:12: spec.replicaSpecs.worker: there is no such field: write Worker"),
        (
            "  replicaSpecs:",
            "  replica_specs:",
            "job.yaml:11: spec.replica_specs: there is no such field: write",
        ),
        (
            "  circuit:",
            "  run_policy: {active_deadline_seconds: 5}\n  circuit:",
            "job.yaml:7: spec.run_policy: there is no such field: write runPolicy",
        ),
        ("  circuit:", "  managed_by: x\n  circuit:", "job.yaml:7: spec.managed_by: there is no such field: write man"),
        (
            "  name: qcnn",
            "  name: qcnn\n  lables: {a: b}",
            "job.yaml:5: metadata.lables: Kubernetes does not have this field",
        ),
        (
            "replicas: 2",
            'replicas: "2"',
            "job.yaml:13: spec.replicaSpecs.Worker.replicas: this has to be a whole number",
        ),
        ("replicas: 2", "replicas: true", "job.yaml:13: spec.replicaSpecs.Worker.replicas: this has to be a whole"),
        ("  circuit:", "  suspend: 1\n  circuit:", "job.yaml:7: spec.suspend: this has to be true or false"),
        (
            "    uri: gs",
            "    - uri: gs",
            "job.yaml:9: spec.artifacts: this has to be a mapping: write its fields below",
        ),
        (
            "          resources",
            "          args: train qcnn\n          resources",
            "job.yaml:19: spec.template.spec.containers[0].args: this has to be a list",
        ),
        (
            "          env:",
            "          stdin: yes please\n          env:",
            "job.yaml:21: spec.template.spec.containers[0].stdin: this has to be true or false",
        ),
        (
            "{memory: 2Gi}",
            "[memory]",
            "job.yaml:20: spec.template.spec.containers[0].resources.limits: this has to be a m",
        ),
        ("2Gi", "2 GB", 'job.yaml:20: spec.template.spec.containers[0].resources.limits.memory: "2 GB" is not a'),
        (
            "{memory: 2Gi}",
            "{memory: 2Gi}\n            requests: {memory: 4Gi}",
            "job.yaml:21: spec.template.spec.containers[0].resources.requests.memory: 4Gi is more than the limit",
        ),
        (
            "{memory: 2Gi}",
            "{cpus: 2}",
            "job.yaml:20: spec.template.spec.containers[0].resources.limits.cpus: Kubernetes does not have this res",
        ),
        (
            "{memory: 2Gi}",
            "{memroy: 2Gi}",
            "job.yaml:20: spec.template.spec.containers[0].resources.limits.memroy: Kub",
        ),
        (
            "name: trainer",
            "name: Trainer_1",
            'job.yaml:17: spec.template.spec.containers[0].name: "Trainer_1" may have',
        ),
        (
            "          env:",
            "          volumeMounts: [{name: nope, mountPath: /x}]\n          env:",
            'job.yaml:21: spec.template.spec.containers[0].volumeMounts[0].name: the pod has no volume "nope": add it',
        ),
        ("name: COLOR", "name: TF_CONFIG", "job.yaml:16: spec.template.spec.containers[trainer] sets TF_CONFIG"),
        ("  template:", "  templat:", "job.yaml:14: spec.templat: there is no such field: write template"),
        ("v1beta1", "v9", f"job.yaml:1: apiVersion: it must be {EITHER}"),
        ("kind: QuantumTrainingJob", "kind: Pod", "job.yaml:2: kind: it must be QuantumTrainingJob"),
        ("kind: QuantumTrainingJob", "kind: TFJob", "job.yaml:2: kind: this is a TFJob: qtj convert job.yaml makes"),
        ("qubits: 8", "qubits: 8\n    qubits: 9", "job.yaml:9: qubits is written twice"),
        ("qubits: 8", "qubits: &a [*a]", "job.yaml:8: this contains itself through its anchor: write it out"),
        ("qubits: 8", f"qubits: {'[' * 2000}", "job.yaml: this is nested too deeply"),
        (
            "qubits: 8",
            "qubits: [8",
            "job.yaml:8: this is not YAML: there is no comma at the end of this line",
        ),
        ("spec:\n  strategy", "spec: 3\nx:\n  strategy", "job.yaml:5: spec: this has to be a mapping"),
    ],
)
def test_a_mistake_is_told_with_its_line(folder: Path, good: str, bad: str, sentence: str) -> None:
    answer = validated(folder, GOOD.replace(good, bad, 1))

    assert answer.code == 2
    assert answer.sentences[0].startswith(sentence)


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_a_job_of_either_version_is_valid_and_its_objects_are_the_same(folder: Path, version: str) -> None:
    (folder / "job.yaml").write_text(GOOD)
    newest = qtj("render", "job.yaml").output
    assert validated(folder, GOOD.replace("v1beta1", version)).output == "job.yaml: qcnn is valid\n"
    assert qtj("render", "job.yaml").output == newest
    assert "apiVersion: quantumtraining.dev/v1alpha1\n" in newest, "the owner, in the version that every CRD serves"


def test_two_jobs_that_are_one_object_to_a_cluster_are_refused(folder: Path) -> None:
    elsewhere = GOOD.replace("  name: qcnn", "  name: qcnn\n  namespace: lab")
    (folder / "same.yaml").write_text(f"{GOOD}---\n{GOOD}")
    (folder / "other.yaml").write_text(f"{GOOD}---\n{elsewhere}")

    assert qtj("validate", "same.yaml").sentences == [
        "same.yaml:28: metadata.name: two jobs of this file are called qcnn: rename one"
    ]
    assert qtj("validate", "other.yaml").code == 0


def test_numbers_are_fine_where_kubernetes_takes_quantities(folder: Path) -> None:
    quantities = "limits: {memory: 2147483648, cpu: 2}"
    assert validated(folder, GOOD.replace("limits: {memory: 2Gi}", quantities)).code == 0


def test_all_mistakes_of_all_files_are_told_at_once(folder: Path) -> None:
    (folder / "one.yaml").write_text(GOOD.replace("qubits: 8", "qubits: 1").replace("replicas: 2", "replicas: 0"))
    (folder / "two.yaml").write_text("[]")

    answer = qtj("validate", "one.yaml", "two.yaml", "three.yaml")

    assert answer.code == 2
    assert [line.split(": ")[0] for line in answer.sentences] == [
        "one.yaml:8",
        "one.yaml:13",
        "two.yaml:1",
        "three.yaml",
    ]


def test_the_example_is_valid() -> None:
    assert qtj("validate", str(Path(__file__).parents[2] / "examples/qcnn.yaml")).code == 0


def test_weights_that_leave_their_folder_are_told_with_their_line(folder: Path) -> None:
    answer = validated(folder, GOOD.replace("/qcnn\n", "/qcnn\n    weights: ../w.h5\n"))

    assert answer.sentences[0].startswith("job.yaml:11: spec.artifacts.weights: must not lead out of its folder")


def test_a_misspelt_field_in_a_list_is_told_with_what_may_be_meant(tmp_path: Path) -> None:
    rules = [{"action": "Fail", "exitcodes": [3]}]
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(job_object(runPolicy={"failurePolicy": {"rules": rules}})))

    answer = qtj("validate", str(file))

    assert answer.code == 2
    assert "spec.runPolicy.failurePolicy.rules[0].exitcodes: there is no such field: write exitCodes" in answer.errors


@pytest.mark.parametrize(
    ("replicas", "sentence"),
    [
        ("2.0", ""),
        ("1e1", ""),
        ("2.5", "this has to be a whole number, without quotes"),
        ("9" * 23, "this is larger than any whole number that an API server accepts: write a smaller one"),
    ],
)
def test_a_number_is_whole_where_the_json_that_kubectl_sends_has_a_whole_one(
    replicas: str, sentence: str, tmp_path: Path
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(GOOD.replace("replicas: 2\n", f"replicas: {replicas}\n"))

    answer = qtj("validate", str(file))

    assert answer.sentences == ([f"{file}:13: spec.replicaSpecs.Worker.replicas: {sentence}"] if sentence else [])


def test_inference_with_a_template_of_its_own_is_valid(folder: Path) -> None:
    assert validated(folder, GOOD + INFERENCE).code == 0


@pytest.mark.parametrize(
    ("good", "bad", "sentence"),
    [
        ("image: theirs:1", "imagee: theirs:1", "job.yaml:29: spec.inference.template.spec.containers[0].imagee: Kub"),
        ("{memory: 2Gi}", "{memory: 2Gb}", "job.yaml:30: spec.inference.template.spec.containers[0].resources.limits"),
        (
            "{memory: 2Gi}}",
            "{memory: 1Ki}}",
            "8 qubits need at least 2 KiB for inference (1 state of 2 KiB)",
        ),
        (
            "resources: {limits: {memory: 2Gi}}",
            "env: [{name: QTJ_JOB, value: x}]",
            "spec.inference.template.spec.containers[judge] sets QTJ_JOB, which the operator writes for every replica",
        ),
        (
            "resources: {limits: {memory: 2Gi}}",
            "env: [{value: x}]",
            "spec.inference.template.spec.containers[0].env[0].name: this field is missing",
        ),
    ],
)
def test_a_mistake_in_the_template_of_inference_is_told_with_its_line(
    folder: Path, good: str, bad: str, sentence: str
) -> None:
    answer = validated(folder, GOOD + INFERENCE.replace(good, bad))

    assert (answer.code, len(answer.sentences)) == (2, 1)
    assert sentence in answer.errors
    assert int(answer.sentences[0].split(":")[1]) in range(24, 31), "a line of spec.inference"
