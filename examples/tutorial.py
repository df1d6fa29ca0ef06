"""A program as for a TFJob, similar to TensorFlow's guides to several workers and to TensorFlow Quantum.

It reads TF_CONFIG, through MultiWorkerMirroredStrategy, and the path for its weights. It uses nothing of this project:
no exit codes, no termination message, no library. It also runs without a job:

    python examples/tutorial.py --weights weights.h5
"""

import argparse
import os
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

os.environ["TF_USE_LEGACY_KERAS"] = "1"  # before TensorFlow: TensorFlow Quantum builds upon Keras 2

import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()  # before TensorFlow Quantum, which sets TensorFlow up

from tutorial_model import EXAMPLES, build, dataset


def upload(path: Path, uri: str) -> None:
    """Puts a file where an address says: gs://BUCKET/PATH, file:///PATH or a plain path."""
    parts = urlsplit(uri)
    if parts.scheme == "gs":
        from google.cloud import storage

        storage.Client(project=None).bucket(parts.netloc).blob(parts.path.lstrip("/")).upload_from_filename(path)
    else:
        target = Path(unquote(parts.path))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())


def is_chief() -> bool:
    """Tells whether this worker is the one whose weights are kept, as the guide says: worker 0 without a chief."""
    resolver = strategy.cluster_resolver
    return resolver.task_type in {None, "chief"} or (resolver.task_type == "worker" and resolver.task_id == 0)


def main() -> None:
    """Trains, and saves the weights."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", required=True, help="where to put them")
    parser.add_argument("--epochs", type=int, default=10)
    options = parser.parse_args()
    tf.keras.utils.set_random_seed(7)
    data = tf.data.Dataset.from_tensor_slices(dataset(EXAMPLES, seed=1)).batch(32)
    with strategy.scope():
        model = build()
    model.fit(data, epochs=options.epochs, verbose=2)
    with tempfile.TemporaryDirectory() as folder:  # every worker saves, for saving may need them all; one is kept
        path = Path(folder, "weights.h5")
        model.save_weights(path)
        if is_chief():
            upload(path, options.weights)
            print("weights saved to", options.weights)


if __name__ == "__main__":
    main()
