"""Makes a small folder of images in four classes, for examples/images.yaml: python make_images.py FOLDER."""

from argparse import ArgumentParser
from pathlib import Path

import numpy as np

from qtj_trainer.replicate.strategy import prepare_tensorflow

parser = ArgumentParser(description="Makes a small folder of images in four classes.")
parser.add_argument("folder", type=Path, metavar="FOLDER", help="where they go; it is made if it is not there")
root = parser.parse_args().folder
prepare_tensorflow()

import tensorflow as tf

COLOURS = {"CNV": (230, 20, 20), "DME": (20, 230, 20), "DRUSEN": (20, 20, 230), "NORMAL": (230, 230, 20)}
random = np.random.default_rng(0)
for part, count in (("train", 8), ("test", 4)):
    for name, colour in COLOURS.items():
        folder = root / part / name
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(count):
            pixels = np.clip(np.array(colour) + random.normal(0, 20, (64, 80, 3)), 0, 255).astype(np.uint8)
            (folder / f"{number}.jpeg").write_bytes(tf.io.encode_jpeg(pixels).numpy())
