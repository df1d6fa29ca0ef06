"""The programs of examples/tutorial.yaml, which know nothing of us: through a bucket, with one worker and with two."""

import re

import pytest
from google.cloud import storage

from tests.trainer.processes import REPOSITORY, Trainer

TRAINS, INFERS = (REPOSITORY / "examples" / name for name in ("tutorial.py", "tutorial_inference.py"))
_MIN_ACCURACY = 0.8
"""Of 64 held-out examples: it was 0.89."""


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_inference_loads_what_training_has_stored(
    trainer: Trainer, bucket: storage.Bucket, emulator: str, workers: int
) -> None:
    arguments = ("--weights", f"gs://{bucket.name}/tutorial-{workers}/weights.h5")

    trained = [
        each.end() for each in trainer.start_programs(workers, TRAINS, *arguments, STORAGE_EMULATOR_HOST=emulator)
    ]
    inferred = trainer.start_program(INFERS, *arguments, STORAGE_EMULATOR_HOST=emulator).end()

    assert [each.code for each in (*trained, inferred)] == [0] * (workers + 1), trained[0].errors + inferred.errors
    assert ["weights saved" in each.output for each in trained] == [True] + [False] * (workers - 1)
    assert [each.message for each in (*trained, inferred)] == [None] * (workers + 1)
    printed = re.fullmatch(r"64 held-out examples: loss [\d.]+, accuracy ([\d.]+)", inferred.output.strip())
    assert printed is not None, inferred.output
    assert float(printed[1]) >= _MIN_ACCURACY
