"""What a job gets from its platform: defaults for what it leaves out, and at most the ceilings."""

from typing import Any

import pytest
import yaml

from qtj_operator.api.platform_policy import PlatformPolicy, effective_run_policy, effective_tensorboard, given_to
from qtj_operator.api.platform_settings import PlatformSettings, SettingsError
from qtj_operator.api.run_policy import RunPolicy
from qtj_operator.api.tensorboard import TensorBoard

DAY = 86400


def policy(defaults: dict[str, Any] | None = None, ceilings: dict[str, Any] | None = None) -> PlatformPolicy:
    return PlatformPolicy.read({"defaults": defaults or {}, "ceilings": ceilings or {}})


@pytest.mark.parametrize(
    ("written", "defaults", "ceilings", "effective"),
    [
        ({}, {}, {}, {}),
        ({}, {"ttlSecondsAfterFinished": DAY}, {}, {"ttlSecondsAfterFinished": DAY}),
        ({"ttlSecondsAfterFinished": 0}, {"ttlSecondsAfterFinished": DAY}, {}, {"ttlSecondsAfterFinished": 0}),
        ({"activeDeadlineSeconds": 9 * DAY}, {}, {"activeDeadlineSeconds": DAY}, {"activeDeadlineSeconds": DAY}),
        ({"activeDeadlineSeconds": 60}, {}, {"activeDeadlineSeconds": DAY}, {"activeDeadlineSeconds": 60}),
        ({}, {}, {"activeDeadlineSeconds": DAY}, {"activeDeadlineSeconds": DAY}),
        ({}, {"pendingDeadlineSeconds": 60}, {"pendingDeadlineSeconds": DAY}, {"pendingDeadlineSeconds": 60}),
        ({}, {}, {"backoffLimit": 10}, {}),
        ({}, {}, {"backoffLimit": 1}, {"backoffLimit": 1}),
        ({"cleanPodPolicy": "All"}, {"disruptionLimit": 5}, {}, {"cleanPodPolicy": "All", "disruptionLimit": 5}),
    ],
)
def test_a_field_is_what_its_user_wrote_or_the_default_and_at_most_the_ceiling(
    written: dict[str, Any], defaults: dict[str, Any], ceilings: dict[str, Any], effective: dict[str, Any]
) -> None:
    found = effective_run_policy(RunPolicy.read(written), policy(defaults, ceilings))

    assert found == RunPolicy.read(effective)


def test_what_a_job_has_from_its_platform_is_told_with_its_source() -> None:
    written = RunPolicy(active_deadline_seconds=9 * DAY, backoff_limit=1)
    values = policy({"ttlSecondsAfterFinished": 60, "backoffLimit": 2}, {"activeDeadlineSeconds": DAY})

    assert [tuple(given) for given in given_to(written, None, values)] == [
        ("runPolicy.activeDeadlineSeconds", "86400", "ceiling"),
        ("runPolicy.ttlSecondsAfterFinished", "60", "default"),
    ]


MEMORY = {"requests": {"memory": "1Gi"}, "limits": {"memory": "4Gi"}}


@pytest.mark.parametrize(
    ("written", "defaults", "ceilings", "requests", "limits"),
    [
        (None, MEMORY, None, {"memory": "1Gi"}, {"memory": "4Gi"}),
        (MEMORY, {"limits": {"memory": "1Gi"}}, None, {"memory": "1Gi"}, {"memory": "4Gi"}),
        (MEMORY, None, {"limits": {"memory": "512Mi"}}, {"memory": "512Mi"}, {"memory": "512Mi"}),
        (None, None, {"limits": {"cpu": 2}}, {"cpu": "100m", "memory": "256Mi"}, {"cpu": 2, "memory": "2Gi"}),
        ({"requests": {"cpu": "4"}}, None, {"limits": {"cpu": 2}}, {"cpu": 2}, {"cpu": 2}),
    ],
    ids=["default", "own", "ceiling", "only a ceiling", "a request above it"],
)
def test_tensorboard_has_its_own_resources_or_the_default_and_at_most_the_ceiling(
    written: Any, defaults: Any, ceilings: Any, requests: Any, limits: Any
) -> None:
    given = {name: {"tensorboardResources": value} if value else {} for name, value in
             (("defaults", defaults), ("ceilings", ceilings))}  # fmt: skip

    found = effective_tensorboard(TensorBoard.read({"resources": written}), policy(**given))

    assert found is not None
    assert found.resources is not None
    assert (found.resources.requests, found.resources.limits) == (requests, limits)


def test_a_namespace_has_values_of_its_own_and_the_others_of_all() -> None:
    settings = PlatformSettings.parse(
        yaml.safe_load("""
        defaults: {ttlSecondsAfterFinished: 86400, backoffLimit: 2}
        ceilings: {activeDeadlineSeconds: 86400}
        namespaces:
          research: {defaults: {backoffLimit: 9}, ceilings: {activeDeadlineSeconds: 864000}}
    """)
    )

    own, other = settings.policy_of("research"), settings.policy_of("teaching")

    assert own == policy({"ttlSecondsAfterFinished": DAY, "backoffLimit": 9}, {"activeDeadlineSeconds": 10 * DAY})
    assert other == policy({"ttlSecondsAfterFinished": DAY, "backoffLimit": 2}, {"activeDeadlineSeconds": DAY})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("default: {}", "default: there is no such field"),
        ("defaults: {backoffLimit: many}", "defaults.backoffLimit: this has to be a whole number, without quotes"),
        ("defaults: {activeDeadlineSeconds: 0}", "0 is too small: this has to be at least 1"),
        ("defaults: {tensorboardResources: {limits: {memory: much}}}", "this is no quantity"),
        ("ceilings: {tensorboardResources: {requests: {cpu: 1}}}", "tensorboardResources has only limits"),
        ("defaults: {backoffLimit: 9}\nceilings: {backoffLimit: 5}", "the default of backoffLimit, 9, is above its"),
        ("defaults: {backoffLimit: 9}\nnamespaces: {a: {ceilings: {backoffLimit: 5}}}", "namespaces.a: the default of"),
        ("[]", "this has to be a mapping"),
    ],
)
def test_a_mistake_in_the_configuration_is_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(SettingsError) as error:
        PlatformSettings.parse(yaml.safe_load(text))

    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_no_configuration_changes_nothing() -> None:
    assert PlatformSettings.parse(None).policy_of("lab") == PlatformPolicy()
