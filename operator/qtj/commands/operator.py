"""Commands around the operator. Each imports what it needs when it runs, so that `--help` answers at once."""

import asyncio
import logging
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from qtj.commands.group import Command
from qtj.terminal.errors import FAILED, INPUT, exit_with_error, needs_extra

__all__ = ["COMMANDS"]

log = logging.getLogger(__name__)


class LogFormat(StrEnum):
    """How log lines look."""

    PLAIN = "plain"
    JSON = "json"


def operator(
    namespace: Annotated[
        str | None, typer.Option(help="Look after this namespace only.", show_default="all namespaces")
    ] = None,
    port: Annotated[int, typer.Option(help="Port of /healthz, /readyz and /metrics; 0 for none.")] = 8080,
    lease_namespace: Annotated[
        str | None,
        typer.Option(
            help="Work only while holding a Lease in this namespace, so that a second operator can stand by.",
            show_default="no election",
        ),
    ] = None,
    log_format: Annotated[LogFormat, typer.Option(help="Lines for people, or JSON for a log collector.")] = (
        LogFormat.PLAIN
    ),
    *,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log the messages of the libraries as well.")
    ] = False,
) -> None:
    """Run the operator: in a pod with its service account, elsewhere with your kubeconfig."""
    with needs_extra("operator", "operator"):
        from qtj_operator.cluster.operator import Settings, run_operator  # noqa: PLC0415
        from qtj_operator.cluster.server import PortError  # noqa: PLC0415
        from qtj_operator.controller.client import ApiError  # noqa: PLC0415

        _log(log_format, verbose=verbose)
    try:
        asyncio.run(run_operator(Settings(namespace=namespace, port=port, lease_namespace=lease_namespace)))
    except (ApiError, PortError) as error:
        if log_format == LogFormat.PLAIN:
            exit_with_error(str(error))
        log.critical("%s", error)
        raise typer.Exit(FAILED) from None
    except Exception as error:
        # In the chosen format, so that a log collector gets all of it.
        log.critical("the operator ends with an unexpected error", exc_info=True)
        raise typer.Exit(FAILED) from error


def crd(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
    check: Annotated[
        Path | None, typer.Option(help="Write nothing; fail when this file is not what would be written.")
    ] = None,
    *,
    docs: Annotated[bool, typer.Option("--docs", help="The reference of its fields instead, in Markdown.")] = False,
) -> None:
    """Print the CustomResourceDefinition."""
    from qtj_operator.api.crd import crd_yaml  # noqa: PLC0415
    from qtj_operator.api.reference import reference  # noqa: PLC0415

    text = reference() if docs else crd_yaml()
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


def _log(form: LogFormat, *, verbose: bool) -> None:
    from pythonjsonlogger.json import JsonFormatter  # noqa: PLC0415

    fields = "%(asctime)s %(levelname)s %(name)s %(message)s"
    plain = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter(fields) if form == LogFormat.JSON else plain)
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    if not verbose:
        logging.getLogger("kopf").setLevel(logging.WARNING)
        for name, level in (("kubernetes", logging.ERROR), ("kubernetes.aio.leaderelection", logging.CRITICAL)):
            logging.getLogger(name).setLevel(level)  # their errors become one sentence


COMMANDS = (
    Command(operator, ("qtj operator", "qtj operator --namespace research --port 0")),
    Command(crd, ("qtj crd | kubectl apply -f -", "qtj crd --docs -o api.md")),
)
