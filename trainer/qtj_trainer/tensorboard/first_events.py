"""The beginnings of event files, so that all attempts of a job are one run in TensorBoard.

An attempt that continues from a checkpoint repeats the steps after it. Without a mark, the curves of both attempts
would be joined, with a jump back:

    attempt 1     7   14   21 ✗
    attempt 2         ╰─▶  21   28   35        "starts at step 15": what attempt 1 has drawn from there on is left out

TensorBoard's Python reader needs this mark, in a file that it reads before the attempt's own one. Its faster reader in
Rust needs none: it leaves out what a smaller step follows.
"""

import time
from pathlib import Path

import tensorflow as tf

__all__ = ["start_again"]


def start_again(folder: Path, first_step: int) -> None:
    """Writes the file that lets TensorBoard leave out what earlier attempts have drawn.

    Args:
        folder: Where the attempt will write its own event file.
        first_step: The first step at which the attempt may draw.
    """
    folder.mkdir(parents=True, exist_ok=True)
    now = time.time()
    session = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
    # "-" is before every letter and digit: the attempt's own file has the name of the machine there.
    with tf.io.TFRecordWriter(str(folder / f"events.out.tfevents.{int(now):010d}.-start")) as file:
        for content in ({"file_version": "brain.Event:2"}, {"step": first_step, "session_log": session}):
            file.write(tf.compat.v1.Event(wall_time=now, **content).SerializeToString())
