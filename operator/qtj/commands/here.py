"""What `qtj run` and `qtj submit --local` share: a program, a study or jobs, whichever the file is."""

from typing import TYPE_CHECKING

from qtj.terminal.errors import InputError

if TYPE_CHECKING:
    from qtj.runs.run import Options

__all__ = ["run_here"]


def run_here(options: "Options") -> int:
    """Runs a file on this machine.

    Returns:
        The exit code of `qtj run`.

    Raises:
        InputError: Something has to be corrected first.
    """
    from qtj.checks.study import study_of
    from qtj.files.documents import read_documents
    from qtj.runs.run import run_file, run_program
    from qtj.script.program import is_program

    options.program.check_unused(options.file)
    read = None if is_program(options.file) else read_documents(options.file)
    if read and (study := study_of(read, options.settings, here=True)):
        from qtj.studies.run import run_study

        return run_study(study, options)
    if options.parallel:
        raise InputError(f"--parallel is for a study, and {options.file} has none: leave it out")
    return run_file(read, options) if read else run_program(options)
