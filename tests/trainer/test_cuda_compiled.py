"""The kernels for GPUs compile for all supported cards, which needs no card."""

import locale
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from qtj_simulator.fused.cuda import compiler
from qtj_simulator.fused.cuda.compiler import UnusableError, compiled
from tests.missing import skip_or_fail

CARDS = [70, 75, 80, 86, 89, 90]
KERNELS = {
    "prepare_kinds", "pull_terms", "prepare_heads", "weigh_observables", "forward", "backward", "string_values",
    "string_seeds", "fold", "readouts", "add_examples", "find_kind_slopes", "find_head_slopes", "add_kind_slopes",
    "add_head_slopes",
}  # fmt: skip


@pytest.fixture(autouse=True)
def nvrtc() -> None:
    try:
        compiler.nvrtc()
    except UnusableError as problem:
        skip_or_fail(str(problem))


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(
    "architecture", [CARDS[0], *(pytest.param(each, marks=pytest.mark.slow) for each in CARDS[1:])]
)
def test_it_compiles(architecture: int, bits: int) -> None:
    text = compiled(architecture, bits, portable=True).decode()

    assert f".target sm_{architecture}" in text
    assert set(re.findall(r"\.entry (\w+)", text)) == KERNELS


@pytest.mark.slow
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(
    "architecture", [CARDS[0], *(pytest.param(each, marks=pytest.mark.slow) for each in CARDS[1:])]
)
def test_the_instructions_of_a_card(architecture: int, bits: int) -> None:
    module = compiled(architecture, bits)

    assert module.startswith(b"\x7fELF")
    assert all(name.encode() in module for name in KERNELS)


def test_text_files_are_read_as_before() -> None:
    def encodings() -> list[str]:
        before = locale.getencoding()
        compiled.__wrapped__(80, 32, portable=True)
        return [before, locale.getencoding()]

    with ThreadPoolExecutor(1) as fresh:  # whose locale is that of the process
        before, after = fresh.submit(encodings).result()

    assert after == before


def test_a_card_that_the_compiler_does_not_know_gets_portable_code() -> None:
    assert ".target sm_90" in compiled(999, 32).decode()
