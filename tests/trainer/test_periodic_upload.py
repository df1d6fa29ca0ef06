"""Files that grow are stored again when they have grown, and not more often than needed."""

import pytest

from qtj_trainer.errors import TryAgainError
from qtj_trainer.stored.periodic_upload import PeriodicUpload


class Bucket:
    """Counts copies; refuses them while it is out."""

    def __init__(self) -> None:
        self.copies = 0
        self.is_out = False

    def store(self) -> None:
        if self.is_out:
            raise TryAgainError("the bucket does not answer")
        self.copies += 1


@pytest.fixture
def bucket() -> Bucket:
    return Bucket()


def test_the_first_growth_is_stored_at_once_and_the_next_one_later(bucket: Bucket) -> None:
    copies = PeriodicUpload(bucket.store, "lost")
    for _ in range(3):
        copies.grown()

    assert bucket.copies == 1


def test_files_that_have_not_grown_are_not_stored_again(bucket: Bucket) -> None:
    copies = PeriodicUpload(bucket.store, "lost")
    copies.catch_up()
    copies.grown()
    copies.catch_up()

    assert bucket.copies == 1


def test_what_a_bucket_has_refused_is_stored_later(bucket: Bucket, caplog: pytest.LogCaptureFixture) -> None:
    copies = PeriodicUpload(bucket.store, "the last epochs are lost")
    bucket.is_out = True
    copies.grown()
    bucket.is_out = False
    copies.catch_up()

    assert bucket.copies == 1
    assert caplog.messages == ["the last epochs are lost: the bucket does not answer"]
