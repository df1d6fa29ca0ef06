"""`qtj doctor --artifacts` tries a bucket, and leaves nothing in it."""

import pytest
from google.cloud import storage

from qtj.doctor.finding import Level
from qtj.doctor.software import artifacts


def test_a_bucket_is_written_to_and_left_as_it_was(
    bucket: storage.Bucket, emulator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", emulator)

    finding = artifacts(f"gs://{bucket.name}/doctor")

    assert (finding.level, finding.message) == (Level.OK, f"gs://{bucket.name}/doctor can be written to")
    assert list(bucket.list_blobs(prefix="doctor")) == []


def test_a_bucket_that_is_not_there_is_named_with_what_to_do(emulator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", emulator)

    finding = artifacts("gs://qtj-nowhere/doctor")

    assert finding.level == Level.MISSING
    assert "the bucket gs://qtj-nowhere does not exist: create it" in finding.message
