"""The manual page qtj(1), from the commands: it is installed with the wheel, and `man qtj` shows it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from qtj.commands.main import GROUPS, app

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "qtj.1"
_STATUS = (
    ("0", "The job is Complete, or the command has succeeded."),
    ("1", "The job has Failed, something is missing, or the output cannot be written."),
    ("2", "The command line or the input must be corrected: one sentence on stderr for each mistake."),
    ("130", "The run was interrupted, or the job is suspended."),
)
_FILES = (
    ("qtj-artifacts/JOB/NUMBER", "The folder of a run: its record, its logs, its weights and its report."),
    ("~/.kube/config", "The cluster of the commands with --cluster, as for kubectl; KUBECONFIG names another file."),
)


def manual() -> str:
    """Returns the page, in the macros of man(7)."""
    return "\n".join((*_head(), *_commands(), *_tail())) + "\n"


def _head() -> Iterator[str]:
    yield '.\\" Generated from operator/qtj/commands by `make reference`. Do not edit.'
    yield '.TH QTJ 1 "" "QuantumTrainingJob" "User Commands"'
    yield from (".SH NAME", "qtj \\- train quantum models with one YAML, on this machine and on Kubernetes")
    yield from (".SH SYNOPSIS", ".B qtj", ".I COMMAND", "[\\fIARGUMENT\\fR ...]", ".br", ".B kubectl qtj")
    yield from (".I COMMAND", "[\\fIARGUMENT\\fR ...]", ".SH DESCRIPTION")
    yield _text(
        "qtj runs a QuantumTrainingJob on this machine, where its replicas are processes, and shows jobs of this "
        "machine and of a cluster. kubectl qtj is the same program; its jobs are those of the cluster."
    )


def _commands() -> Iterator[str]:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    yield ".SH COMMANDS"
    for heading, commands in GROUPS.items():
        yield f".SS {_text(heading)}"
        for number, each in enumerate(commands):
            command = group.commands[each.name or each.function.__name__]
            assert isinstance(command, TyperCommand)
            yield from () if number == 0 else (".PP",)  # a heading begins a paragraph already
            yield from _command(command, each.examples)


def _command(command: TyperCommand, examples: Sequence[str]) -> Iterator[str]:
    arguments = [each for each in command.params if isinstance(each, TyperArgument)]
    names = " ".join(f"[\\fI{_text(each.metavar or each.name or '')}\\fR]" for each in arguments)
    yield from (f"\\fBqtj {_text(command.name or '')}\\fR {names}".rstrip(), ".RS 4")
    yield from _paragraphs(command.help or "")
    for argument in arguments:
        yield from _item(f"\\fI{_text(argument.metavar or argument.name or '')}\\fR", argument.help)
    for option in command.params:
        if isinstance(option, TyperOption):
            yield from _item(_option(option), option.help)
    yield from (".PP", "Examples:", ".PP", ".nf", *(f"    {_text(each)}" for each in examples), ".fi", ".RE")


def _option(option: TyperOption) -> str:
    names = ", ".join(f"\\fB{_text(name)}\\fR" for name in (*option.opts, *option.secondary_opts))
    return names if option.is_flag else f"{names} \\fI{_text(option.metavar or (option.name or '').upper())}\\fR"


def _tail() -> Iterator[str]:
    for heading, items in ((".SH EXIT STATUS", _STATUS), (".SH FILES", _FILES)):
        yield heading
        for name, text in items:
            yield from _item(f"\\fB{_text(name)}\\fR", text)
    yield from (".SH SEE ALSO", ".BR kubectl (1)")


def _item(name: str, text: str | None) -> Iterator[str]:
    yield from (".TP", name, _text(text or ""))


def _paragraphs(text: str) -> Iterator[str]:
    """Yields the paragraphs of a docstring, without its indentation."""
    first, *others = (_text(" ".join(each.split())) for each in re.split(r"\n\s*\n", text.strip()))
    yield first
    for paragraph in others:
        yield from (".PP", paragraph)


def _text(text: str) -> str:
    """Returns a text that roff reads as it is: no escape, no request at the beginning of a line."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\`")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped
