"""TensorBoard that ends where it cannot read its folder: `python -m qtj.tensorboard.server --logdir=FOLDER ...`.

By itself it shows an empty page for ever. Its thread that reads curves ends with the first error, for example while a
bucket is out of reach, and nothing notices (TensorBoard 2.21.0, backend/event_processing/data_ingester.py). A program
that has ended is started again, by the kubelet or by its user, and its last line says why.

The image of TensorBoard has this file as its command `tensorboard`, so it imports nothing of this project.
"""

import os
import sys
import threading

__all__ = ["run"]

_OPTION = "--logdir="
_READER = "Reloader"
_MOST = 300
"""Characters of an error: those of clients for buckets may hold a whole page."""


def run() -> None:
    """Runs TensorBoard with the arguments of this process, until it is stopped or cannot read its folder."""
    # Otherwise gcsfs asks for the type of the bucket: that takes rights that reading does not, and emulators refuse it.
    os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    from tensorboard.compat import tf
    from tensorboard.main import run_main

    folder = next((word.removeprefix(_OPTION) for word in sys.argv if word.startswith(_OPTION)), "")
    threading.excepthook = lambda failed: _end_with_reader(folder, failed)
    try:
        tf.io.gfile.exists(folder)  # before it answers, so that it is not ready for a moment after each start
    except Exception as error:  # noqa: BLE001  whatever the client for the bucket raises
        sys.exit(_sentence(folder, error))
    run_main()


def _end_with_reader(folder: str, failed: threading.ExceptHookArgs) -> None:
    if failed.thread is None or failed.thread.name != _READER or failed.exc_value is None:
        threading.__excepthook__(failed)
        return
    sys.stderr.write(f"{_sentence(folder, failed.exc_value)}\n")
    sys.stderr.flush()
    os._exit(1)  # only this ends the other threads


def _sentence(folder: str, error: BaseException) -> str:
    reason = " ".join(str(error).split())[:_MOST] or type(error).__name__
    return f"{folder} cannot be read: {reason}"


if __name__ == "__main__":
    run()
