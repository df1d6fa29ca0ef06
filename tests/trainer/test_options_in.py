"""The arguments of a program, as a tracking server shows them."""

import pytest

from qtj_trainer.program.source_record import options_in


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("", {}),
        ("--lr 0.5 --epochs=3", {"lr": "0.5", "epochs": "3"}),
        ("--fast --lr 0.5", {"fast": "true", "lr": "0.5"}),
        ("--lr 0.5 --fast", {"lr": "0.5", "fast": "true"}),
        ("-s 3 --shift -0.5 --low -.5", {"s": "3", "shift": "-0.5", "low": "-.5"}),
        ("data.csv --seed 1 more", {"seed": "1", "arguments": "data.csv more"}),
        ("--name= --", {"name": "", "arguments": "--"}),
        ("- -", {"arguments": "- -"}),
        ("--seed 1 --seed 2", {"seed": "2"}),
    ],
)
def test_options_are_found_by_their_names(words: str, options: dict[str, str]) -> None:
    assert options_in(words.split()) == options
