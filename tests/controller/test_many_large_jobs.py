"""Memory and answers of an operator beside jobs that are too large, jobs just below the limit, and strangers."""

from pathlib import Path

import pytest

from bench.scale.large_cluster import measured

pytestmark = pytest.mark.slow

HEALTHY_SECONDS = 1.0
"""What a kubelet waits for. `make bench-scale` measures a machine that does nothing else."""


def test_jobs_above_the_limit_and_strangers_at_its_port_cost_the_operator_little(tmp_path: Path) -> None:
    cost = measured(tmp_path, "large", 20, strangers=300)

    assert cost.reasons == ["InvalidSpec"] * 20
    assert cost.mib < 256, "seven such jobs took 598 MiB, and 300 such connections 693"
    assert cost.slowest < HEALTHY_SECONDS


def test_jobs_just_below_the_limit_are_read_and_kept_as_bytes(tmp_path: Path) -> None:
    cost = measured(tmp_path, "just_below", 40)

    assert cost.reasons == ["Suspended"] * 40
    assert cost.mib < 200
