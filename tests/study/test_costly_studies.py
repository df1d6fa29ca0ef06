"""A study of a few kilobytes that would keep the operator busy for minutes, or fill its memory.

The operator reads each study in its one thread. So what reading takes is counted, and has limits.
"""

import hashlib
from typing import Any
from unittest.mock import Mock

import pytest

from qtj_operator.api import study_parameters
from qtj_operator.core.study.plan import unplannable
from qtj_operator.core.study.points import points_of
from qtj_operator.manifests import trial
from qtj_operator.manifests.trial import misspelt_reference, most_bytes, trial_job
from tests.study.studies import study

TEMPLATE = {"artifacts": {"uri": "gs://bucket/rates"}}


def test_a_range_of_hardly_any_numbers_is_drawn_from_for_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Mock(side_effect=hashlib.sha256)
    monkeypatch.setattr("hashlib.sha256", drawn)
    narrow = {"min": 1.0, "max": 1.0000000000001}
    parameters = [{"name": f"p{number}", "range": narrow} for number in range(32)]

    found = points_of(study(parameters=parameters, seeds=None, search={"algorithm": "Random"}, maxTrials=1000))

    assert len(found) == 1
    assert 0 < drawn.call_count < 64_000


def test_all_points_that_there_are_can_still_be_drawn() -> None:
    parameters = [{"name": name, "range": {"min": 1, "max": 10, "integer": True}} for name in ("a", "b", "c")]
    spec = study(parameters=parameters, seeds=None, search={"algorithm": "Random", "seed": 1}, maxTrials=1000)

    assert len(points_of(spec)) == 1000


def test_a_thousand_values_are_not_each_compared_with_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = Mock()

    class Text(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            compared()
            return str.__eq__(self, other)

    monkeypatch.setattr(study_parameters, "text_of", Text)
    study(parameters=[{"name": "x", "values": list(range(1000))}])

    assert compared.call_count < 1000


def test_few_names_of_a_template_are_compared_with_those_of_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    nearest = Mock(return_value=None)
    monkeypatch.setattr(trial, "nearest", nearest)
    texts = ["${HOME}" * 1000, *(f"${{VARIABLE_{number}}}" for number in range(1000))]

    assert misspelt_reference(study(jobTemplate={**TEMPLATE, "zzz": texts})) is None
    assert nearest.call_count == 16


@pytest.mark.parametrize(
    ("template", "fields"),
    [
        ({"zzz": "${text}" * 1000}, {}),
        ({"replicaSpecs": {str(role): {"template": {"spec": {"containers": [{}]}}} for role in range(1000)}}, {}),
        ({"zzz": "${added}" * 1000}, {"final": {"seeds": {"count": 1}, "parameters": {"added": "x" * 200}}}),
    ],
)
def test_a_job_that_would_be_much_larger_than_its_study_is_never_built(template: Any, fields: Any) -> None:
    parameters = [{"name": "text", "values": ["x" * 200]}]

    why = unplannable(study(jobTemplate={**TEMPLATE, **template}, parameters=parameters, **fields))

    assert why is not None
    assert "at most 131,072 are read: shorten jobTemplate or the values" in why


def test_the_size_of_a_job_is_not_underestimated_but_for_what_every_job_has() -> None:
    containers = [{"name": "trainer", "image": "toy:1", "args": ["${text}", "--depth", "1"]}]
    template = {**TEMPLATE, "template": {"spec": {"containers": containers}}}
    for length in (1, 100_000):
        values: dict[str, int | str] = {"text": "x" * length, "depth": 3}
        built = len(str(trial_job({"name": "rates", "namespace": "lab"}, template, 1, values, None)))
        assert built <= most_bytes(template, [values]) + 500


def test_a_study_of_one_object_does_not_become_thousands_of_large_jobs() -> None:
    parameters = [{"name": "rate", "values": list(range(1000))}]

    assert unplannable(study(jobTemplate={**TEMPLATE, "zzz": "x" * 15_000}, parameters=parameters, seeds=None)) is None
    why = unplannable(study(jobTemplate={**TEMPLATE, "zzz": "x" * 20_000}, parameters=parameters, seeds=None))
    assert why is not None
    assert why.startswith("the jobs of 1,000 trials would have up to 20,")
