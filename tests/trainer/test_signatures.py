"""What help() prints of the public interface: nothing of the environment, which may hold secrets."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "name",
    ["qtj_trainer.Program", "qtj_trainer.replicate.Replicator", "qtj_trainer.program.program"],
)
def test_help_does_not_print_the_environment(name: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", f"help({name!r})"],
        env={**os.environ, "A_SECRET": "swordfish"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "swordfish" not in ended.stdout
    assert name.rpartition(".")[2] in ended.stdout
