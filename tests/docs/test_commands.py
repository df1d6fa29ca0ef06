"""The commands of the documentation exist, with the options that it shows."""

import re
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, Code, blocks, inline_code
from tests.docs.programs import NOT_CHECKED, PROGRAMS, is_built, mistakes
from tests.docs.shell import commands, commands_of
from tests.missing import skip_or_fail
from tools.docs.files import ROOT

CONSOLE = [code for page in PAGES for code in blocks(page) if code.language == "console"]
INLINE = [
    code
    for page in PAGES
    for code in inline_code(page)
    if re.match(r"(qtj|make|kubectl|helm|python -m|python3 -m) [a-z]", code.text)
]


def lines_of(console: str) -> list[str]:
    return [mistake for command in commands(console) for mistake in mistakes(command.words)]


def of_inline(text: str) -> list[str]:
    """The mistakes in code within a sentence, which may have placeholders, or leave out what is clear."""
    words = [word.strip("[]") for word in re.sub(r"\.\.\.|\\\||[|].*", "", text).split()]
    asked = [word for word in words if not re.fullmatch(r"[A-Z]+(/[A-Z]+)?", word)]
    found = (each for command in commands_of(" ".join(asked)) for each in mistakes(command.words))
    return [each for each in found if "issing " not in each and "requires an argument" not in each]


@pytest.mark.parametrize("code", CONSOLE, ids=lambda code: code.place)
def test_a_command_of_a_block_is_accepted_by_its_program(code: Code) -> None:
    assert lines_of(code.text) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_command_within_a_sentence_is_accepted_by_its_program(page: Path) -> None:
    written = [code for code in INLINE if code.place.startswith(f"{page.relative_to(ROOT)}:")]

    assert [(code.place, code.text, found) for code in written if (found := of_inline(code.text))] == []


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("$ qtj rnu job.yaml", "qtj has no command rnu"),
        ("$ qtj run job.yaml --frsh", "No such option: --frsh"),
        ("$ qtj init circiut", "'circiut' is not one of"),
        ("$ kubectl qtj status --no-such", "No such option: --no-such"),
        ("$ make cluster-up", "the Makefile has no target cluster-up"),
        ("$ make test SPEED=3", "the Makefile has no variable SPEED"),
        ("$ cp deploy/none.yaml here", "deploy/none.yaml does not exist"),
        ("$ deploy/gke/gke.sh upp", "deploy/gke/gke.sh does not know upp"),
        ("$ frobnicate", "frobnicate is no program that tests/docs/programs.py knows"),
        ("$ python -m no_such_module", "there is no module no_such_module"),
        ("$ pip install './operator/qtj_operator[clutser]'", "there is no extra clutser"),
        ("$ echo $(qtj rnu) && qtj run a.yaml", "qtj has no command rnu"),
    ],
)
def test_a_wrong_command_is_found(line: str, mistake: str) -> None:
    assert mistake in "\n".join(lines_of(line))


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        ("$ kubectl gte qtj", 'unknown command "gte"'),
        ("$ kubectl get qtj --al-namespaces", "unknown flag: --al-namespaces"),
        ("$ helm instal x deploy/helm", 'unknown command "instal"'),
        ("$ helm install x deploy/helm --create-namspace", "unknown flag: --create-namspace"),
    ],
)
def test_a_wrong_command_for_a_cluster_is_found(line: str, mistake: str) -> None:
    if not is_built(line.split()[1]):
        skip_or_fail("kubectl and helm are not built: `make test-command` builds them, where there is Go")

    assert mistake in "\n".join(lines_of(line))


def test_a_program_is_checked_or_there_is_a_reason() -> None:
    assert not set(PROGRAMS) & set(NOT_CHECKED)
    assert all(NOT_CHECKED.values())


def test_there_are_commands_to_check() -> None:
    assert (len(CONSOLE) > 15, len(INLINE) > 100) == (True, True)
