"""What an unknown word may stand for."""

import pytest

from qtj_operator.api.spelling import meant, nearest

FIELDS = ("backoffLimit", "replicaSpecs", "suspend")


@pytest.mark.parametrize("word", ["backofLimit", "backoff_limit", "BACKOFFLIMIT"])
def test_the_nearest_word_is_named_as_it_is_written(word: str) -> None:
    assert nearest(word, FIELDS) == "backoffLimit"
    assert meant(word, FIELDS) == ": write backoffLimit"


@pytest.mark.parametrize("word", ["", "gpu", None, 7, "x" * 1_000_000], ids=lambda word: str(word)[:5])
def test_a_word_that_is_near_to_none_names_none(word: object) -> None:
    assert nearest(word, FIELDS) is None
    assert meant(word, FIELDS) == ""


def test_underscores_do_not_count() -> None:
    assert nearest("__s_u_s_p_e_n_d__", FIELDS) == "suspend"


def test_without_known_words_none_is_near() -> None:
    assert meant("suspend", ()) == ""
