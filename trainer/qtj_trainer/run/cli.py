"""The command line: ``python -m qtj_trainer train WORKLOAD`` and ``python -m qtj_trainer infer``.

Options come from the workloads, so that a new workload has its command by being listed. Whatever goes wrong ends as one
sentence on stderr and in the termination message, and as an exit code of the contract.
"""

import inspect
import logging
import os
import sys
from collections.abc import Callable
from dataclasses import Field, fields
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from qtj_operator.api import contract
from qtj_trainer.errors import TrainerError
from qtj_trainer.run.infer import infer
from qtj_trainer.run.termination import leave_message
from qtj_trainer.run.train import train
from qtj_trainer.workloads import WORKLOADS, Workload

__all__ = ["app", "main"]

log = logging.getLogger("qtj_trainer")

app = typer.Typer(
    help="Trains quantum models and checks what they learned.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_train = typer.Typer(help="Trains a workload and stores its weights.", no_args_is_help=True)
app.add_typer(_train, name="train")


def main() -> NoReturn:
    """Runs the command line and ends the process.

    It ends without Python's and TensorFlow's teardown: by then everything is stored, and a worker that takes its part
    of a cluster down in order may wait for peers that are gone.
    """
    logging.basicConfig(format="%(message)s", stream=sys.stdout)
    log.setLevel(logging.INFO)
    code = _run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run() -> int:
    try:
        return app(standalone_mode=False) or 0
    except TrainerError as problem:
        return _fail(str(problem), problem.exit_code)
    except typer.TyperException as problem:
        return _fail(f"{problem.format_message() or 'A command is missing.'} Try --help.", problem.exit_code)
    except Exception as problem:
        log.exception("this is a bug of the trainer")
        return _fail(f"unexpected {type(problem).__name__}: {problem}; the log has the traceback", 1)


def _fail(sentence: str, code: int) -> int:
    typer.echo(f"error: {sentence}", err=True)
    leave_message(os.environ, contract.TerminationMessage(error=sentence))
    return code


def _default_artifacts(workload: str) -> str:
    return str(Path("qtj-artifacts", workload))


def _artifacts_option(workload: str) -> inspect.Parameter:
    teach = "Where weights and records are stored: gs://BUCKET/PATH, file:///PATH or a folder."
    option = typer.Option(help=teach, envvar=contract.Env.ARTIFACTS_URI)
    return _parameter("artifacts", _default_artifacts(workload), str, option)


def _parameter(name: str, default: object, kind: Any, option: Any) -> inspect.Parameter:  # noqa: ANN401  typer's types
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _workload_option(field: Field[Any]) -> inspect.Parameter:
    bounds = str(field.metadata["bounds"])
    teach = f"{field.metadata['teach']} {bounds[0].upper()}{bounds[1:]}."
    return _parameter(field.name, field.default, field.type, typer.Option(help=teach, envvar=field.metadata["env"]))


def _train_command(workload: Workload) -> Callable[..., None]:
    """Builds a function with the workload's options as parameters, for typer to read."""

    def command(*, artifacts: str, **options: Any) -> None:  # noqa: ANN401  as many types as there are options
        train(workload, workload.options(**options), artifacts, os.environ)

    parameters = [*map(_workload_option, fields(workload.options)), _artifacts_option(workload.name)]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # functions take attributes
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    return command


for _workload in WORKLOADS.values():
    _train.command(_workload.name, help=_workload.summary)(_train_command(_workload))


@_train.callback()
def _train_group() -> None:
    """Keeps the workload's name on the command line while there is only one."""


@app.command("infer")
def _infer(
    weights: Annotated[
        str | None,
        typer.Option(help="The weights to check. [default: those of result.json below --artifacts]",
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
    """Checks trained weights on the examples their training held out."""
    infer(weights, sha256, artifacts, os.environ)
