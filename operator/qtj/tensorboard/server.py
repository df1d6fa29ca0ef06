"""TensorBoard that ends where it cannot read its folder: `python -m qtj.tensorboard.server --logdir=FOLDER ...`.

By itself it shows an empty page for ever. Its thread that reads curves ends with the first error, for example while a
bucket is out of reach, and nothing notices (TensorBoard 2.21.0, backend/event_processing/data_ingester.py). A program
that has ended is started again, by the kubelet or by its user, and its last line says why.

It also answers no page of another site. Its address on a user's machine is known, and one GET request makes it connect
to an address of the caller's for a profile, and store what that answers.

The image of TensorBoard has this file as its command `tensorboard`, so it imports nothing of this project.
"""

import os
import sys
import threading
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

__all__ = ["guarded", "run"]

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

    program: Any = import_module("tensorboard.program")  # `from tensorboard import program` has a substitute of it
    serve = program.create_port_scanning_werkzeug_server
    program.create_port_scanning_werkzeug_server = lambda app, flags: serve(guarded(app), flags)
    folder = next((word.removeprefix(_OPTION) for word in sys.argv if word.startswith(_OPTION)), "")
    threading.excepthook = lambda failed: _end_with_reader(folder, failed)
    try:
        tf.io.gfile.exists(folder)  # before it answers, so that it is not ready for a moment after each start
    except Exception as error:  # noqa: BLE001  whatever the client for the bucket raises
        sys.exit(_sentence(folder, error))
    run_main()


def guarded(app: "WSGIApplication") -> "WSGIApplication":
    """Returns an application that refuses what pages of other sites ask for in the browser of a user.

    Browsers say who asks. A link to TensorBoard's page is no such request, and neither is the page in a notebook.
    """

    def answer(request: "WSGIEnvironment", start: "StartResponse") -> Iterable[bytes]:
        is_visit = request.get("HTTP_SEC_FETCH_MODE") == "navigate" and "/data/" not in request["PATH_INFO"]
        if request.get("HTTP_SEC_FETCH_SITE") == "cross-site" and not is_visit:
            start("403 Forbidden", [("Content-Type", "text/plain")])
            return [b"a page of another site may not ask this: open TensorBoard itself\n"]
        return app(request, start)

    return answer


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
