"""The program of a trial, which needs nothing but Python: its mse is (rate - 0.3)^2 plus a hundredth of its seed.

python trial.py [--rate=RATE] [--seed=SEED] [--break-at=RATE] [--hold-at=SEED]

With --break-at, it fails at this rate. With --hold-at, it waits at this seed for a file `released-here`. Each training
adds a line to the file `trained-here` of the current folder. No literal of this program has these names: else `qtj run`
would take the files for its data, and a study starts over when data change.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

PLACE = "here"

arguments = argparse.ArgumentParser()
arguments.add_argument("--rate", type=float, default=0.0)
arguments.add_argument("--seed", type=int, default=0)
arguments.add_argument("--break-at", type=float)
arguments.add_argument("--hold-at", type=int)
arguments.add_argument("--db")
asked = arguments.parse_args()
given = json.loads(os.environ["QTJ_PARAMETERS"])

with Path(f"trained-{PLACE}").open("a") as trained:
    trained.write(f"{asked.rate} {asked.seed}\n")
if asked.rate == asked.break_at:
    Path(os.environ["QTJ_TERMINATION_LOG"]).write_text(json.dumps({"error": "this rate is bad"}))
    sys.exit(1)
while asked.seed == asked.hold_at and not Path(f"released-{PLACE}").exists():
    time.sleep(0.05)
mse = (given["rate"] - 0.3) ** 2 + 0.01 * given.get("seed", 0)
result = {"jobUid": os.environ["QTJ_JOB_UID"], "metrics": {"mse": mse}}
folder = Path(unquote(urlsplit(os.environ["QTJ_ARTIFACTS_URI"]).path))
(folder / "result.json").write_text(json.dumps(result))
