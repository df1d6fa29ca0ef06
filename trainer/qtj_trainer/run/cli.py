"""The command line: ``python -m qtj_trainer train WORKLOAD`` and ``python -m qtj_trainer infer``.

Each workload declares its options, so a new workload has its command as soon as it is listed. Every error is reported
as one sentence on stderr and in the termination message, and as an exit code of the contract.
"""

import inspect
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import Field, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

import qtj_contract as contract
from qtj_contract.digests import is_sha256
from qtj_contract.log_times import json_lines
from qtj_contract.printable import reason_of
from qtj_trainer.errors import StoppedError, TrainerError, UserError
from qtj_trainer.replica.signals import Stop, exit_now
from qtj_trainer.replica.termination import report_error, write_message
from qtj_trainer.run.evaluate import check_evaluator
from qtj_trainer.run.infer import infer
from qtj_trainer.run.train import train
from qtj_trainer.workloads import WORKLOADS, Workload

__all__ = ["app", "main"]

_OF_CIRCUIT = {
    "qubits": contract.Env.QUBITS, "filters": contract.Env.FILTERS, "precision": contract.Env.PRECISION,
    "engineDevice": contract.Env.ENGINE_DEVICE,
}  # fmt: skip
"""Fields of `spec.circuit` that have an option."""
_OUT_OF_MEMORY = ("MemoryError", "ResourceExhaustedError")
"""Python's error and TensorFlow's, by name, as TensorFlow may not be loaded."""

log = logging.getLogger("qtj_trainer")


class LogFormat(StrEnum):
    """How the log is written."""

    TEXT = "text"
    JSON = "json"


app = typer.Typer(
    help="Trains quantum models and evaluates them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_train = typer.Typer(help="Trains a workload and stores its weights.", no_args_is_help=True)
app.add_typer(_train, name="train")


@app.callback()
def _logs(
    *,
    log_format: Annotated[LogFormat, typer.Option(help="For people, or for programs that collect logs.")] = (
        LogFormat.TEXT
    ),
    check: Annotated[
        bool, typer.Option("--check", help="Report what is wrong with the arguments, and do nothing else.")
    ] = False,
) -> None:
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_formatter(log_format))
    logging.basicConfig(handlers=[handler])
    log.setLevel(logging.INFO)


def _formatter(log_format: LogFormat) -> logging.Formatter:
    if log_format == LogFormat.TEXT:
        return logging.Formatter("%(message)s")
    from pythonjsonlogger.json import JsonFormatter

    formatter: logging.Formatter = json_lines(JsonFormatter)
    return formatter


def main(stop: Stop) -> NoReturn:
    """Runs the command line and ends the process.

    It ends without the teardown of Python and TensorFlow: everything is stored by then, and a worker that shuts down
    its part of a cluster may wait for peers that have exited.

    Args:
        stop: Knows whether SIGTERM has arrived.
    """
    code = _run(stop)
    sys.stdout.flush()
    sys.stderr.flush()
    exit_now(code)


def _run(stop: Stop) -> int:
    try:
        return app(standalone_mode=False, obj=stop) or 0
    except StoppedError as problem:
        log.info("%s", problem)
        write_message(os.environ, contract.TerminationMessage(error=str(problem)))
        return problem.exit_code
    except TrainerError as problem:
        return _fail(str(problem), problem.exit_code)
    except typer.TyperException as problem:
        # Typer puts "Value error" before the message of an invalid choice.
        message = problem.format_message().replace("Value error, ", "").strip().rstrip(".") or "A command is missing"
        return _fail(f"{message}: try --help", problem.exit_code)
    except Exception as problem:
        if type(problem).__name__ in _OUT_OF_MEMORY:
            return _fail(
                f"memory is full: take a smaller --batch-size, or a machine with more memory ({_refused(problem)})", 1
            )
        log.exception("this is a bug of the trainer")
        return _fail(f"unexpected {type(problem).__name__}: {reason_of(problem)}; the log has the traceback", 1)


def _refused(problem: Exception) -> str:
    """Returns what there was no memory for: TensorFlow says it after a list of operations."""
    found = re.search(r"OOM when allocating tensor with shape\S* and type \w+", str(problem))
    return found[0] if found else reason_of(problem)


def _fail(sentence: str, code: int) -> int:
    report_error(os.environ, sentence)
    return code


def _default_artifacts(workload: str) -> str:
    return str(Path("qtj-artifacts", workload))


def _artifacts_option(workload: str) -> inspect.Parameter:
    help_text = "Where weights and records are stored: gs://BUCKET/PATH, file:///PATH or a folder."
    option = typer.Option(help=help_text, envvar=contract.Env.ARTIFACTS_URI)
    return _parameter("artifacts", _default_artifacts(workload), str, option)


def _parameter(name: str, default: object, kind: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _workload_option(field: Field[Any]) -> inspect.Parameter:
    bounds = str(field.metadata["bounds"] or "")
    help_text = field.metadata["help_text"] + (f" {bounds[0].upper()}{bounds[1:]}." if bounds else "")
    return _parameter(field.name, field.default, field.type, typer.Option(help=help_text, envvar=field.metadata["env"]))


def _check_circuit(options: Mapping[str, Any]) -> None:
    """Refuses options that contradict the job's circuit: the operator computes the job's memory from that."""
    for field, variable in _OF_CIRCUIT.items():
        option = re.sub("(?=[A-Z])", "-", field).lower()
        declared, chosen = os.environ.get(variable), options.get(option.replace("-", "_"))
        if declared and chosen is not None and str(chosen) != declared:
            raise UserError(
                f"--{option} {chosen} contradicts the job's spec.circuit.{field} {declared}: leave one of them out"
            )


def _only_checks(context: typer.Context) -> bool:
    """Returns whether --check was given. `qtj validate` uses it before there is a pod."""
    return bool(context.find_root().params["check"])


def _train_command(workload: Workload) -> Callable[..., None]:
    """Builds a function with the workload's options as parameters, for typer to read."""

    def command(context: typer.Context, *, artifacts: str, **options: Any) -> None:
        _check_circuit(options)
        checked = workload.options(**options)
        check_evaluator(os.environ, checked)
        if not _only_checks(context):
            train(workload, checked, artifacts, os.environ, context.obj)

    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [context, *map(_workload_option, fields(workload.options)), _artifacts_option(workload.name)]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # functions take attributes
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


for _workload in WORKLOADS.values():
    _train.command(_workload.name, help=_workload.summary)(_train_command(_workload))


@app.command("infer")
def _infer(
    context: typer.Context,
    weights: Annotated[
        str | None,
        typer.Option(help="The weights to evaluate. [default: those of result.json below --artifacts]",
                     envvar=contract.Env.WEIGHTS_URI),
    ] = None,
    sha256: Annotated[
        str | None,
        typer.Option(help="The digest they must have. [default: the one in their record]",
                     envvar=contract.Env.WEIGHTS_SHA256),
    ] = None,
    artifacts: Annotated[
        str,
        typer.Option(help="Where a training stored its result.", envvar=contract.Env.ARTIFACTS_URI),
    ] = _default_artifacts("qcnn"),
) -> None:  # fmt: skip
    """Evaluates trained weights on the held-out set of their training."""
    if sha256 is not None and not is_sha256(sha256):
        raise UserError(f"--sha256 is {sha256!r}: it must be a SHA-256 digest, 64 hex digits")
    if not _only_checks(context):
        infer(weights, sha256, artifacts, os.environ)
