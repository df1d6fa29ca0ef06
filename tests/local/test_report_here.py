"""`qtj report` of programs that were really run: one that says the least, one of Keras, and a job under way."""

import re
from typing import Any

import yaml

from qtj.local.progress_log import progress_history
from tests.local.laptop import REPOSITORY, Laptop, toy_job
from tools.background import wait_until

LEAST = """
import json, math, os, time
from http.server import BaseHTTPRequestHandler, HTTPServer

class Telemetry(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        asked[0] += 1
        self.wfile.write(json.dumps({"epoch": asked[0], "loss": 1 / asked[0] if asked[0] < 3 else math.nan}).encode())
    def log_message(self, *_):
        pass

asked = [0]
server = HTTPServer(("", int(os.environ["QTJ_METRICS_PORT"])), Telemetry)
for _ in range(4):
    server.handle_request()
time.sleep(0.2)
"""
"""An epoch with each poll, without steps and without the number of epochs."""


def least() -> dict[str, Any]:
    job = toy_job(workers=1)
    del job["spec"]["inference"]
    job["spec"]["template"]["spec"]["containers"][0] |= {"command": ["python", "-c", LEAST], "args": []}
    return job


def test_an_epoch_and_a_loss_are_enough_for_a_view_and_a_curve(laptop: Laptop) -> None:
    laptop.write(least())

    ended = laptop.qtj("run", "job.yaml")
    report = laptop.qtj("report", "toy")

    assert ended.code == 0, ended.errors
    assert re.search(r"^ +[\d.]+ s  toy  .*epoch \d+$", ended.output, re.MULTILINE)
    assert "               1 after epoch 1, 0.5 after epoch 2\n" in report.output
    assert "               the loss was not finite, or not reported, from epoch 3 on\n" in report.output


def test_a_job_under_way_has_a_report(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=1000))
    running = laptop.start("run", "job.yaml")
    wait_until(lambda: progress_history(laptop.artifacts()).epochs and laptop.record()["status"].get("progress"))

    report = laptop.qtj("report", "toy")
    running.interrupt()

    assert report.code == 0, report.errors
    assert report.output.startswith("toy is Running")
    assert " of 1000\n" in report.output
    assert (laptop.artifacts() / "report.svg").exists()
    assert running.end().code == 130


def test_a_keras_program_of_ones_own_has_every_epoch_in_its_report(laptop: Laptop) -> None:
    job = yaml.safe_load((REPOSITORY / "examples/own-program.yaml").read_text())
    program = str(REPOSITORY / "examples/own_program.py")
    job["spec"]["template"]["spec"]["containers"][0]["command"] = ["python", program]
    job["spec"]["replicaSpecs"]["Worker"]["replicas"] = 1
    laptop.write(job)

    ended = laptop.qtj("run", "job.yaml")
    report = laptop.qtj("report", "own-program")

    assert ended.code == 0, ended.errors
    assert [each.number for each in progress_history(laptop.artifacts("own-program")).epochs] == [1, 2, 3, 4, 5]
    assert "epochs         5 of 5\n" in report.output
    assert " (inference)\n" in report.output
    assert (laptop.artifacts("own-program") / "report.svg").exists()
