"""The contract with a training program: what it writes, the operator reads; anything else does no harm."""

import json
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qtj_contract import (
    EXIT_RETRY,
    TERMINATION_MESSAGE_LIMIT,
    CaptureRecord,
    Progress,
    TerminationMessage,
    Weights,
    activity_in,
    is_retryable,
    message_limit,
    printable,
)

numbers = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(min_value=0, max_value=2**63 - 1)
texts = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" \n"))  # what is printable
uris = st.from_regex("(gs|file)://[a-zäöü0-9]([a-z /._-]|ü)*", fullmatch=True)
SHA256 = "ab" * 32
progresses = st.builds(
    Progress,
    epoch=counts,
    epochs=st.none() | counts,
    step=st.none() | counts,
    loss=st.none() | numbers,
    accuracy=st.none() | numbers,
    validation_loss=st.none() | numbers,
    training_accuracy=st.none() | numbers,
    examples_per_second=st.none() | numbers,
)
messages = st.builds(
    TerminationMessage,
    weights=st.none() | st.builds(Weights, uri=uris, sha256=st.from_regex("[0-9a-f]{64}", fullmatch=True)),
    metrics=st.dictionaries(texts, numbers),
    progress=st.none() | progresses,
    error=st.none() | texts.filter(bool).map(lambda text: text[:300]),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,  # more cost much time, and each text is read by the same few lines
)
GARBAGE = [
    "",
    "Killed",
    "null",
    "[]",
    "3",
    '"text"',
    "{",
    "[" * TERMINATION_MESSAGE_LIMIT,
    '{"epoch":' * 400,
    '{"epoch": 1e999, "epochs": 2, "step": 3}',
    '{"epoch": NaN, "epochs": 2, "step": 3}',
    '{"epoch": -1, "epochs": 2, "step": 3}',
    f'{{"epoch": {2**63}, "epochs": 2, "step": 3}}',
    '{"epochs": 2, "step": 3}',
    '{"weights": "gs://bucket/w"}',
    '{"weights": {"uri": "gs://bucket/w"}}',
    '{"metrics": [1, 2]}',
    f'{{"weights": {{"uri": "", "sha256": "{SHA256}"}}}}',
    f'{{"weights": {{"uri": "gs://", "sha256": "{SHA256}"}}}}',
    f'{{"weights": {{"uri": "file:// ", "sha256": "{SHA256}"}}}}',
    f'{{"weights": {{"uri": "/data/w.h5", "sha256": "{SHA256}"}}}}',
    f'{{"weights": {{"uri": null, "sha256": "{SHA256}"}}}}',
    f'{{"weights": {{"uri": "gs://bucket/w\\nx", "sha256": "{SHA256}"}}}}',
    '{"weights": {"uri": "gs://bucket/w", "sha256": ""}}',
    '{"weights": {"uri": "gs://bucket/w", "sha256": "zz"}}',
    '{"weights": {"uri": "gs://bucket/w", "sha256": "ab"}}',
    f'{{"weights": {{"uri": "gs://bucket/w", "sha256": "{SHA256}0"}}}}',
]


@given(messages)
def test_a_message_arrives_as_it_was_sent(message: TerminationMessage) -> None:
    assert TerminationMessage.parse(message.to_json()) == message


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("bell\x07 and back\x08", "bell  and back "),
        ("two\nlines, a\ttab", "two\nlines, a tab"),
        ("left\u202eright", "left right"),
    ],
)
def test_a_programs_text_cannot_command_a_terminal(text: str, shown: str) -> None:
    assert printable("\x1b") == ""
    assert printable(text) == shown
    message = TerminationMessage.parse(json.dumps({"error": text + "."}))
    assert message is not None
    assert message.error == shown + "."


@given(st.text())
def test_what_is_printable_stays_so(text: str) -> None:
    assert printable(printable(text)) == printable(text)
    assert "\x1b" not in printable(text)


@given(progresses)
def test_a_progress_arrives_as_it_was_sent(progress: Progress) -> None:
    assert Progress.parse(progress.to_json()) == progress


@given(error=st.text(), progress=st.none() | progresses)
@example(error="\U0001f63f" * 5000, progress=None)
@example(error='"\\\n' * 5000, progress=None)
@example(error="\x00" * 5000, progress=None)
def test_whatever_the_error_says_the_message_fits(error: str, progress: Progress | None) -> None:
    text = TerminationMessage(error=error, progress=progress).to_json()

    assert len(text.encode()) <= TERMINATION_MESSAGE_LIMIT
    assert TerminationMessage.parse(text) is not None


def test_a_long_error_keeps_its_beginning() -> None:
    message = TerminationMessage.parse(TerminationMessage(error="the bucket is gone: " + "x" * 5000).to_json())

    assert message is not None
    assert message.error is not None
    assert message.error.startswith("the bucket is gone: xxx")
    assert message.error.endswith("x...")


def test_a_message_is_written_with_the_field_names_of_the_status() -> None:
    progress = Progress(epoch=3, epochs=25, step=120, steps=1000, loss=0.25, examples_per_second=80.0)
    weights = Weights(uri="gs://b/w", sha256=SHA256)
    message = TerminationMessage(weights=weights, metrics={"mse": 0.2}, progress=progress)

    assert json.loads(message.to_json()) == {
        "weights": {"uri": "gs://b/w", "sha256": SHA256},
        "metrics": {"mse": 0.2},
        "progress": {"epoch": 3, "epochs": 25, "step": 120, "steps": 1000, "loss": 0.25, "examplesPerSecond": 80.0},
    }


def test_a_message_without_content_is_an_empty_object() -> None:
    assert TerminationMessage().to_json() == "{}"


@pytest.mark.parametrize("value", ["true", '"low"', "[1]", '{"a": 1}', "1e999"])
def test_a_value_that_cannot_be_read_costs_no_other_of_the_progress(value: str) -> None:
    assert Progress.parse(f'{{"epoch": 1, "epochs": 2, "loss": 0.5, "accuracy": {value}}}') in (
        Progress(epoch=1, epochs=2, loss=0.5),
        Progress(epoch=1, epochs=2, loss=0.5, accuracy=1),
    )


def test_a_message_with_many_metrics_keeps_its_weights_and_as_many_metrics_as_fit() -> None:
    weights = Weights(uri="gs://b/w", sha256=SHA256)
    metrics = {f"accuracy of the class {number}": 0.5 for number in range(200)}

    encoded = TerminationMessage(weights=weights, metrics=metrics, progress=Progress(epoch=3)).to_json()
    message = TerminationMessage.parse(encoded)

    assert len(encoded) <= TERMINATION_MESSAGE_LIMIT
    assert message is not None
    assert message.weights == weights
    assert message.progress == Progress(epoch=3)
    assert 50 < len(message.metrics) < 200


@pytest.mark.parametrize("text", GARBAGE)
def test_text_that_is_no_progress_is_none(text: str) -> None:
    assert Progress.parse(text) is None


@pytest.mark.parametrize("text", [text for text in GARBAGE if not text.startswith('{"epoch')])
def test_text_that_is_no_message_is_none(text: str) -> None:
    assert TerminationMessage.parse(text) is None


@given(st.text() | json_values.map(json.dumps))
def test_nothing_that_a_program_writes_raises(text: str) -> None:
    message, progress = TerminationMessage.parse(text), Progress.parse(text)

    assert message is None or isinstance(message, TerminationMessage)
    assert progress is None or isinstance(progress, Progress)


@given(
    st.dictionaries(
        st.sampled_from(["weights", "metrics", "progress", "error", "uri", "sha256", "epoch", "epochs", "step"]),
        json_values,
    ).map(json.dumps)
)
def test_what_is_read_can_always_be_stored(text: str) -> None:
    message = TerminationMessage.parse(text)
    if message is None:
        return

    assert all(math.isfinite(value) for value in message.metrics.values())
    assert json.loads(json.dumps([message.error, *message.metrics]).encode()) == [message.error, *message.metrics]
    assert (message.error or "").encode().decode() == (message.error or "")


def test_of_a_progress_only_the_epoch_is_needed() -> None:
    assert Progress.parse('{"epoch": 3, "loss": 0.5}') == Progress(epoch=3, loss=0.5)
    assert Progress(epoch=3, loss=0.5).to_dict() == {"epoch": 3, "loss": 0.5}


def test_a_loss_that_diverged_counts_as_unknown() -> None:
    progress = Progress.parse('{"epoch": 1, "epochs": 2, "step": 3, "loss": NaN, "accuracy": Infinity}')

    assert progress == Progress(epoch=1, epochs=2, step=3)


def test_a_metric_that_diverged_is_left_out_and_takes_nothing_with_it() -> None:
    text = f'{{"metrics": {{"mse": NaN, "accuracy": 0.5}}, "weights": {{"uri": "gs://b/w", "sha256": "{SHA256}"}}}}'

    message = TerminationMessage.parse(text)

    assert message is not None
    assert message.metrics == {"accuracy": 0.5}
    assert message.weights == Weights(uri="gs://b/w", sha256=SHA256)


@pytest.mark.parametrize("value", ["true", '"low"', "null", "[1]", '{"a": 1}', "1e999"])
def test_a_metric_that_is_no_number_is_left_out_and_takes_nothing_with_it(value: str) -> None:
    message = TerminationMessage.parse(f'{{"metrics": {{"ok": {value}, "n": 3}}, "error": "no bucket"}}')

    assert message == TerminationMessage(metrics={"n": 3.0}, error="no bucket")


def test_diverged_values_are_not_written_because_json_cannot_express_them() -> None:
    progress = Progress(epoch=1, epochs=2, step=3, loss=math.nan)
    message = TerminationMessage(metrics={"mse": math.inf}, progress=progress)

    assert json.loads(message.to_json()) == {"progress": {"epoch": 1, "epochs": 2, "step": 3}}


def test_a_progress_that_is_none_takes_nothing_with_it() -> None:
    message = TerminationMessage.parse('{"progress": {"epoch": "two"}, "error": "no bucket"}')

    assert message == TerminationMessage(error="no bucket")


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    message = TerminationMessage.parse(r'{"error": "\ud83d"}')

    assert message == TerminationMessage(error="?")


@pytest.mark.parametrize(
    ("exit_code", "again"),
    [
        *((code, False) for code in (0, 1, 2, 74, 76, 126, 127)),
        *((code, True) for code in (EXIT_RETRY, 128, 134, 137, 139, 143, 255)),
    ],
)
def test_a_replica_runs_again_after_a_signal_or_when_it_asks_to(exit_code: int, *, again: bool) -> None:
    assert is_retryable(exit_code) is again


@pytest.mark.parametrize(
    ("answer", "activity"),
    [
        ('{"activity": "loading TensorFlow", "epoch": 0, "epochs": 2, "step": 0}', "loading TensorFlow"),
        ('{"epoch": 1, "epochs": 2, "step": 3}', ""),
        ('{"activity": null}', ""),
        ('{"activity": 7}', "7"),
        (json.dumps({"activity": "\x1b[2Jcompiling\n\ud800" + "x" * 100}), "compiling ?" + "x" * 49),
    ],
)
def test_a_program_reports_its_activity(answer: str, activity: str) -> None:
    assert activity_in(answer) == activity


@pytest.mark.parametrize("answer", [*GARBAGE[:8], "", "[1]"])
def test_an_answer_that_is_no_object_says_nothing_of_what_a_program_is_doing(answer: str) -> None:
    assert activity_in(answer) is None


WEIGHTS = Weights(uri="gs://lab-bucket/qcnn/weights/1f3c0a.h5", sha256="1f3c0a" + "0" * 58)
MISSING = "no profile of worker-1 " * 9
CAPTURES = tuple(CaptureRecord(name=f"epoch-{each}", state="Failed", error=MISSING) for each in range(1, 9))
FULL = TerminationMessage(
    weights=WEIGHTS,
    metrics={f"classAccuracy{number:03}": number / 1000 for number in range(200)},
    progress=Progress(epoch=25, epochs=25, step=1000, loss=0.2, captures=CAPTURES),
    report="gs://lab-bucket/qcnn/reports/qcnn-0c9d2f4e.html",
    warning="training ended after 5 of 24 steps, because the data ran out " * 9,
    error="the bucket is gone " * 50,
)


def of_a_kubelet(message: str, containers: int) -> str:
    """What is left in the status of a pod: kubernetes 1.34, pkg/kubelet/status/status_manager.go."""
    return message[:TERMINATION_MESSAGE_LIMIT].encode()[: 12 * 1024 // containers].decode(errors="ignore")


@pytest.mark.parametrize("containers", [1, 2, 3, 4, 6, 12, 32])
@pytest.mark.parametrize("added", [0, 1, 2])
def test_a_message_of_a_pod_with_many_containers_is_not_cut(containers: int, added: int) -> None:
    written = FULL.to_json(message_limit(containers))

    message = TerminationMessage.parse(of_a_kubelet(written, containers + added))

    assert message is not None
    assert not message.is_cut
    assert message.weights == WEIGHTS


def test_a_pod_with_one_container_loses_nothing() -> None:
    assert message_limit(1) == TERMINATION_MESSAGE_LIMIT


@given(limit=st.integers(300, TERMINATION_MESSAGE_LIMIT))
def test_a_message_has_as_much_as_fits(limit: int) -> None:
    written = FULL.to_json(limit)

    assert len(written) <= limit
    assert json.loads(written)["weights"]["uri"] == WEIGHTS.uri


def test_the_weights_survive_wherever_a_message_is_cut() -> None:
    written = FULL.to_json()

    for length in range(len(written)):
        message = TerminationMessage.parse(written[:length])
        assert message is None or message.is_cut, written[:length]
        assert length < 2 or message is not None, written[:length]
        assert length < 150 or (message is not None and message.weights == WEIGHTS)


def test_a_number_that_is_cut_does_not_count() -> None:
    message = TerminationMessage.parse('{"error": "no bucket", "metrics": {"mse": 0.1')

    assert message == TerminationMessage(error="no bucket", is_cut=True)


@pytest.mark.parametrize(
    "text",
    [
        '{"weights": {uri: "gs://b/w", sha256: "00"}, "metrics": {}}',
        '{"level": "info"}\n{"level": "warning"',
        "{'weights': 1}, and so on",
        '{"weights": "gs://b/w" "metrics": {"mse": 0.2}}',
    ],
)
def test_text_that_is_no_json_was_not_cut(text: str) -> None:
    assert TerminationMessage.parse(text) is None
