"""What the exit code of a training program means."""

__all__ = ["EXIT_RETRY", "is_retryable"]

EXIT_RETRY = 75
"""Exit code (EX_TEMPFAIL of sysexits.h) with which a program asks to be run again, for example when a peer failed."""


def is_retryable(exit_code: int) -> bool:
    """Tells whether a replica that ended with `exit_code` may be run again.

    Codes from 128 up mean a signal (128 + its number), which the program did not choose; 75 asks for a retry. Every
    other code is the program's own decision and is final.
    """
    return exit_code == EXIT_RETRY or exit_code >= 128
