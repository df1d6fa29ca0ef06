"""Commands around the operator. Each imports what it needs when it runs, so that `--help` answers at once."""

from pathlib import Path
from typing import Annotated

import typer

from qtj.commands.group import Command
from qtj.terminal.errors import INPUT, exit_with_error, needs_extra
from qtj_operator.cluster.command import examples, main

__all__ = ["COMMANDS"]


def operator(
    options: Annotated[list[str] | None, typer.Argument(metavar="[OPTIONS]", help="See `qtj operator --help`.")] = None,
) -> None:
    """Run the operator: in a pod with its service account, elsewhere with your kubeconfig."""
    with needs_extra("operator", "operator"):
        raise typer.Exit(main(options or [], "qtj operator"))


def crd(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    check: Annotated[
        Path | None, typer.Option(help="Write nothing; fail when this file is not what would be written.")
    ] = None,
    *,
    docs: Annotated[bool, typer.Option("--docs", help="The reference of its fields instead, in Markdown.")] = False,
    study: Annotated[bool, typer.Option("--study", help="That of studies instead of that of jobs.")] = False,
) -> None:
    """Print the CustomResourceDefinition."""
    text = _definition(docs=docs, study=study)
    if check is not None:
        if not check.is_file() or check.read_text() != text:
            exit_with_error(f"{check} differs from the models in operator/qtj_operator/api: run `make crds`")
    elif output is not None:
        try:
            output.write_text(text)
        except OSError as problem:
            exit_with_error(f"cannot write {output} ({problem.strerror}): name a file in a folder that exists", INPUT)
    else:
        typer.echo(text, nl=False)


def _definition(*, docs: bool, study: bool) -> str:
    from qtj_operator.api.crd import crd_yaml, study_crd_yaml
    from qtj_operator.api.reference import reference, study_reference

    if docs:
        return study_reference() if study else reference()
    return study_crd_yaml() if study else crd_yaml()


COMMANDS = (
    Command(operator, examples("qtj operator"), passes_options=True),
    Command(crd, ("qtj crd | kubectl apply -f -", "qtj crd --study | kubectl apply -f -", "qtj crd --docs -o api.md")),
)
