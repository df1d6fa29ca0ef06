"""Lines of keys: first come, first served in each, and groups take turns."""

from qtj_operator.controller.lines import Lines


def some(*keys: str) -> Lines[str, str]:
    """Returns lines of keys whose group is their first letter."""
    lines: Lines[str, str] = Lines()
    for key in keys:
        lines.add(key[0], key)
    return lines


def test_each_line_has_one_head_and_a_key_that_comes_again_keeps_its_place() -> None:
    lines = some("a1", "a2", "b1", "a1")

    assert list(lines.heads()) == ["a1", "b1"]
    assert len(lines) == 3
    assert "a2" in lines


def test_a_group_comes_after_all_others_once_one_of_its_keys_has_left() -> None:
    lines = some("a1", "a2", "b1", "c1")
    lines.remove("a1")

    assert list(lines.heads()) == ["b1", "c1", "a2"]


def test_a_group_without_keys_is_forgotten() -> None:
    lines = some("a1", "b1")
    lines.remove("a1")
    lines.remove("a1")

    assert (list(lines.heads()), lines.has("a"), lines.has("b"), "a1" in lines) == (["b1"], False, True, False)
