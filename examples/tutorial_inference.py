"""The second program of the tutorial: loads the weights that the first program has saved, and evaluates them.

python examples/tutorial_inference.py --weights weights.h5
"""

import argparse
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tutorial_model import HELD_OUT, build, dataset


def download(uri: str) -> bytes:
    """Reads the file at an address."""
    parts = urlsplit(uri)
    if parts.scheme == "gs":
        from google.cloud import storage

        return storage.Client(project=None).bucket(parts.netloc).blob(parts.path.lstrip("/")).download_as_bytes()
    return Path(unquote(parts.path)).read_bytes()


def main() -> None:
    """Judges the weights by examples that training has not seen."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", required=True, help="where they are")
    options = parser.parse_args()
    model = build()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "weights.h5")
        path.write_bytes(download(options.weights))
        model.load_weights(path)
    loss, accuracy = model.evaluate(*dataset(HELD_OUT, seed=2), verbose=0)
    print(f"{HELD_OUT} held-out examples: loss {loss:.4f}, accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
