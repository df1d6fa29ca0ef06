"""A Prometheus of its own for a test, with the targets that the monitors of deploy/monitoring select."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from tools.background import free_port


@dataclass(frozen=True)
class Target:
    """An address to scrape, with the labels that its monitor gives it."""

    address: str
    labels: Mapping[str, str]


@dataclass(frozen=True)
class Prometheus:
    """A server that runs.

    Attributes:
        url: Its address.
        log: What it says.
        process: Its process.
    """

    url: str
    log: Path
    process: subprocess.Popen[bytes]

    def ready(self) -> bool:
        """Tells whether it answers queries.

        Raises:
            AssertionError: It has ended.
        """
        assert self.process.poll() is None, self.log.read_text()
        try:
            with urlopen(f"{self.url}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def firing(self) -> list[dict[str, str]]:
        """Returns the labels of all alerts that fire, each with its summary."""
        with urlopen(f"{self.url}/api/v1/alerts", timeout=10) as answer:
            found = json.load(answer)["data"]["alerts"]
        return [{**each["labels"], **each["annotations"]} for each in found if each["state"] == "firing"]

    def samples(self, query: str) -> list[dict[str, Any]]:
        """Returns what a query finds now, each with its labels and value."""
        with urlopen(f"{self.url}/api/v1/query?{urlencode({'query': query})}", timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
            return found


@contextmanager
def running(folder: Path, targets: Sequence[Target], rules: Path) -> Iterator[Prometheus]:
    """Runs a server that scrapes these targets; see `configured`."""
    static = [{"targets": [each.address], "labels": dict(each.labels)} for each in targets]
    with configured(folder, [{"job_name": "quantumtraining", "static_configs": static}], rules) as server:
        yield server


@contextmanager
def configured(folder: Path, scrape: Sequence[Any], rules: Path) -> Iterator[Prometheus]:
    """Runs a server that scrapes every second and evaluates these rules; it ends with the block.

    Args:
        folder: Where it keeps its files.
        scrape: Its `scrape_configs`.
        rules: A file with rules.
    """
    port = free_port()
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(rules)],
        "scrape_configs": list(scrape),
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))
    argv = (
        *("prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"),
        f"--web.listen-address=127.0.0.1:{port}",
    )
    with (folder / "log").open("wb") as log, subprocess.Popen(argv, stdout=log, stderr=log) as server:
        try:
            yield Prometheus(f"http://127.0.0.1:{port}", folder / "log", server)
        finally:
            server.terminate()
