"""`jobSettings` of the chart: a file that the operator reads, and the operator starts again when it changes."""

from typing import Any

import pytest
import yaml

from qtj_operator.api.platform_settings import NO_SETTINGS, PlatformSettings
from tests.controller.test_install import of_kind
from tests.deploy.chart import Helm, Json

SETTINGS: Json = {
    "defaults": {"ttlSecondsAfterFinished": 2592000, "tensorboardResources": {"limits": {"memory": "1Gi"}}},
    "ceilings": {"activeDeadlineSeconds": 2147483647},
    "namespaces": {"team-a": {"ceilings": {"backoffLimit": 0}}},
}


def mounted(objects: list[Json]) -> tuple[Json, list[str], list[Json]]:
    """The ConfigMap that the operator has as a volume, its arguments, and its mounts."""
    pod = of_kind(objects, "Deployment")[0]["spec"]["template"]["spec"]
    (container,), (volume,), (found,) = pod["containers"], pod["volumes"], of_kind(objects, "ConfigMap")
    assert volume["configMap"]["name"] == found["metadata"]["name"]
    return found, container["args"], container["volumeMounts"]


def test_the_operator_gets_the_settings_as_they_are_written(helm: Helm) -> None:
    found, args, (mount,) = mounted(helm.render({"jobSettings": SETTINGS}))

    assert f"--job-settings={mount['mountPath']}/jobs.yaml" in args
    assert PlatformSettings.parse(yaml.safe_load(found["data"]["jobs.yaml"])) == PlatformSettings.read(SETTINGS)


def test_other_settings_start_the_operator_again(helm: Helm) -> None:
    other = {**SETTINGS, "ceilings": {"activeDeadlineSeconds": 60}}
    names = {mounted(helm.render({"jobSettings": each}))[0]["metadata"]["name"] for each in (SETTINGS, other, SETTINGS)}

    assert len(names) == 2


def test_without_settings_there_is_no_file(helm: Helm) -> None:
    objects = helm.render({})

    assert of_kind(objects, "ConfigMap") == []
    assert "volumes" not in of_kind(objects, "Deployment")[0]["spec"]["template"]["spec"]
    assert PlatformSettings.parse({}) == NO_SETTINGS


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"defaults": {"ttlSeconds": 1}}, "at '/jobSettings/defaults': additional properties 'ttlSeconds' not allowed"),
        ({"ceilings": {"backoffLimit": "2"}}, "at '/jobSettings/ceilings/backoffLimit': got string, want integer"),
        ({"namespaces": {"a": {"backoffLimit": 2}}}, "additional properties 'backoffLimit' not allowed"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_place(helm: Helm, values: dict[str, Any], sentence: str) -> None:
    assert sentence in helm.refusal({"jobSettings": values})
