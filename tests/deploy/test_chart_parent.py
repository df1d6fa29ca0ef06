"""The chart as a part of another one, and with the values of the release before this one."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.deploy.chart import CHART, Helm, by_name, with_values_before
from tools.release.version import VERSION


@pytest.fixture
def platform(tmp_path: Path) -> Path:
    """A chart of somebody else that has ours as a part, on a condition."""
    folder = tmp_path / "platform"
    shutil.copytree(CHART, folder / "charts" / "qtj-operator")
    part = {"name": "qtj-operator", "version": VERSION, "condition": "qtj-operator.enabled"}
    chart = {"apiVersion": "v2", "name": "platform", "version": "1.0.0", "dependencies": [part]}
    (folder / "Chart.yaml").write_text(yaml.safe_dump(chart))
    return folder


def test_a_parent_chart_leaves_the_operator_out_on_a_condition(helm: Helm, platform: Path) -> None:
    def kinds(values: Mapping[str, object]) -> set[str]:
        return {each["kind"] for each in helm.render({"qtj-operator": values}, chart=platform)}

    assert "Deployment" in kinds({"enabled": True, "replicas": 1})
    assert "Deployment" in kinds({})
    assert kinds({"enabled": False}) == set()


def test_a_parent_chart_shares_its_global_values(helm: Helm, platform: Path) -> None:
    assert helm.render({"global": {"site": "lab"}, "qtj-operator": {"enabled": True}}, chart=platform)


def test_a_condition_is_true_or_false(helm: Helm) -> None:
    assert "at '/enabled': got string, want boolean" in helm.refusal({"enabled": "no"})


def test_values_of_the_release_before_render_the_defaults_of_this_one(helm: Helm, tmp_path: Path) -> None:
    earlier = with_values_before(tmp_path / "earlier")

    assert by_name(helm.render({}, chart=earlier)) == by_name(helm.render({}))


def test_a_tensorboard_with_a_tag_alone_is_of_the_default_repository(helm: Helm, tmp_path: Path) -> None:
    objects = helm.render({"tensorboard": {"tag": "1"}}, chart=with_values_before(tmp_path / "earlier"))

    pod = by_name(objects)["Deployment", "qtj-operator"]["spec"]["template"]["spec"]
    assert "--tensorboard-image=localhost/qtj-tensorboard:1" in pod["containers"][0]["args"]
