"""The operator's command line: `python -m qtj_operator`, and `qtj operator`, which passes its options on.

The libraries of the operator are imported when it starts, so that `--help` needs none of them.
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Sequence
from typing import NoReturn

from qtj_contract import printable
from qtj_contract.log_times import json_lines
from qtj_operator.api.copied_labels import CopiedLabels
from qtj_operator.api.defaults import TENSORBOARD_IMAGE

__all__ = ["MISUSED", "examples", "main", "report"]

_FAILED, MISUSED = 1, 2
"""Exit codes."""
_PLAIN = "plain"
_SWITCH_SECONDS = 0.0005
"""How long a thread keeps the interpreter while another wants it. With the 5 ms of Python, a call to the network waits
as long for a large job that is decoded in its thread, and a probe behind strangers waits for seconds."""

log = logging.getLogger(__name__)


class _Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one sentence."""

    def error(self, message: str) -> NoReturn:
        sys.exit(report(f"{message} (see {self.prog} --help)", MISUSED))


def examples(program: str) -> tuple[str, ...]:
    """Returns command lines that work as they are written."""
    return program, f"{program} --namespace research --port 0"


def main(arguments: Sequence[str], program: str) -> int:
    """Runs the operator until it gets SIGTERM or SIGINT.

    Args:
        arguments: Its options.
        program: How it was called, for its help.

    Returns:
        The exit code: 0, or 1 when the operator could not start or had to end.

    Raises:
        ModuleNotFoundError: A library is not installed.
        SystemExit: After the help with 0, and after a mistake in the options with 2.
    """
    options = _parser(program).parse_args(arguments)

    from qtj_operator.api.platform_settings import NO_SETTINGS, SettingsError
    from qtj_operator.cluster.job_settings import read_job_settings
    from qtj_operator.cluster.operator import Settings, run_operator
    from qtj_operator.cluster.server import PortError
    from qtj_operator.controller.client import ApiError

    _log(options.log_format, options.log_level, verbose=options.verbose)
    try:
        jobs = NO_SETTINGS if options.job_settings is None else read_job_settings(options.job_settings)
    except SettingsError as error:
        return report(str(error), MISUSED)
    settings = Settings(
        namespaces=tuple(dict.fromkeys(options.namespace)),
        port=options.port,
        lease_namespace=options.lease_namespace,
        tensorboard_image=options.tensorboard_image,
        copied_labels=CopiedLabels(tuple(options.copy_label)),
        jobs=jobs,
    )
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        asyncio.run(run_operator(settings))
    except (ApiError, PortError) as error:
        if options.log_format == _PLAIN:
            return report(str(error), _FAILED)
        log.critical("%s", error)
    except Exception:
        # In the form that was asked for, so that a log collector gets it whole.
        log.critical("the operator ends because of an unexpected error in its own code", exc_info=True)
    else:
        return 0
    return _FAILED


def report(problem: str, code: int) -> int:
    """Writes on stderr why the operator ends, and returns the exit code."""
    sys.stderr.write("".join(f"qtj: {line}\n" for line in printable(problem).split("\n")))
    return code


def _parser(program: str) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=program,
        description="Run the operator: in a pod with its service account, elsewhere with your kubeconfig.",
        epilog="\n  ".join(("Examples:", *examples(program))),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    option = parser.add_argument
    option(
        "--namespace",
        action="append",
        default=[],
        help="manage only this namespace; may be repeated (default: all namespaces)",
    )
    option("--port", type=int, default=8080, help="port of /healthz, /readyz and /metrics; 0 for none (default: 8080)")
    option(
        "--lease-namespace",
        metavar="NAMESPACE",
        help="work only while holding a Lease in this namespace, so that a second operator can stand by; operators for "
        "different namespaces need different ones (default: no election)",
    )
    option(
        "--tensorboard-image",
        metavar="IMAGE",
        default=TENSORBOARD_IMAGE,
        help="the image for jobs with spec.tensorboard that name none (default: %(default)s)",
    )
    option(
        "--copy-label",
        metavar="KEY",
        action="append",
        type=_label_to_copy,
        default=[],
        help="give this label of a job to everything that is made for it, such as one by which teams are billed; "
        "PREFIX/ stands for all labels with this prefix; may be repeated (default: none)",
    )
    option(
        "--job-settings",
        metavar="FILE",
        help="YAML with defaults and ceilings for runPolicy and TensorBoard of jobs that start from now on, for all "
        "namespaces and for single ones (default: none)",
    )
    _add_options_of_logs(parser)
    return parser


def _add_options_of_logs(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    option(
        "--log-level",
        choices=("info", "warning", "error"),
        default="info",
        help="the least that is logged (default: info)",
    )
    option(
        "--log-format",
        choices=(_PLAIN, "json"),
        default=_PLAIN,
        help="lines for people, or JSON for a log collector (default: plain)",
    )
    option("-v", "--verbose", action="store_true", help="log the messages of the libraries as well")


def _label_to_copy(key: str) -> str:
    try:
        CopiedLabels((key,))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return key


def _log(form: str, level: str, *, verbose: bool) -> None:
    from pythonjsonlogger.json import JsonFormatter

    plain = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")
    handler = logging.StreamHandler()
    handler.setFormatter(plain if form == _PLAIN else json_lines(JsonFormatter))
    handler.setLevel(level.upper())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    if not verbose:
        logging.getLogger("kopf").setLevel(logging.WARNING)
        for name, least in (("kubernetes", logging.ERROR), ("kubernetes.aio.leaderelection", logging.CRITICAL)):
            logging.getLogger(name).setLevel(least)  # what these report, we say in a sentence
