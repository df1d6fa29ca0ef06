"""Which labels of a job may be copied to everything made for it."""

import pytest

from qtj_operator.api.copied_labels import CopiedLabels

WRITTEN = {
    "cost-center": "4711",
    "example.com/team": "vision",
    "example.com/tier": "gold",
    "other.example.com/team": "x",
    "example.community/team": "x",
    "cost-centers": "x",
}


def test_nothing_is_copied_unless_it_is_named() -> None:
    assert CopiedLabels().of(WRITTEN) == {}


def test_a_key_is_copied_as_it_is_and_a_prefix_with_everything_behind_it() -> None:
    assert CopiedLabels(("cost-center",)).of(WRITTEN) == {"cost-center": "4711"}
    assert CopiedLabels(("example.com/team",)).of(WRITTEN) == {"example.com/team": "vision"}
    assert CopiedLabels(("example.com/",)).of(WRITTEN) == {"example.com/team": "vision", "example.com/tier": "gold"}


@pytest.mark.parametrize(
    "key",
    [
        "quantumtraining.dev/job",
        "quantumtraining.dev/",
        "kueue.x-k8s.io/queue-name",
        "kueue.x-k8s.io/",
        "scheduling.x-k8s.io/pod-group",
        "app.kubernetes.io/name",
        "app.kubernetes.io/",
        "kubernetes.io/metadata.name",
        "node.k8s.io/x",
    ],
)
def test_a_label_that_a_controller_acts_on_is_refused(key: str) -> None:
    with pytest.raises(
        ValueError, match=r"is not copied, because controllers act on labels of .*: name a label of your"
    ):
        CopiedLabels((key,))


@pytest.mark.parametrize("key", ["", "/team"])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="is no key of a label: write for example cost-center"):
        CopiedLabels((key,))


@pytest.mark.parametrize("key", ["my-kubernetes.io.example/team", "notkubernetes.io/team"])
def test_a_domain_that_only_resembles_theirs_is_fine(key: str) -> None:
    assert CopiedLabels((key,)).of({key: "a"}) == {key: "a"}
