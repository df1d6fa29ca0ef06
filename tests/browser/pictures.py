"""`python -m tests.browser.pictures REPORT TENSORBOARD`: the pictures of the docs.

REPORT is the page of a run of examples/qcnn.yaml, TENSORBOARD the address of a TensorBoard that shows this run with a
profile, such as http://127.0.0.1:6006/.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser

from tests.browser.chromium import OUTPUT, Screen, browser, opened
from tests.browser.tensorboard import TensorBoard

_DOCS = Path(__file__).parents[2] / "docs/reference"
_REPORT = Screen(1040, 1100)


def main(report: str, tensorboard: str) -> None:
    """Draws them anew."""
    with browser() as started:
        _draw_report(started, Path(report))
        board = TensorBoard(started, tensorboard)
        board.last_point("loss", "/train")
        board.traced()
    for shot, picture in (("loss", "tensorboard"), ("trace", "profile")):
        shutil.copyfile(OUTPUT / f"tensorboard-{shot}.png", _DOCS / f"{picture}.png")


def _draw_report(started: Browser, page: Path) -> None:
    with opened(started, page.resolve().as_uri(), _REPORT) as shown:
        shown.screenshot(path=_DOCS / "report.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
