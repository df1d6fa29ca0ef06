"""A job as a notebook shows it."""

import base64
import re

from qtj.python.notebook import html_of
from tests.cli.seen import replica, seen

LOSSES = [0.5, 0.25, None, 0.125]


def picture_in(html: str) -> str:
    """The SVG of the picture in a text of HTML."""
    (found,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)
    return base64.b64decode(found).decode()


def test_it_has_the_phase_the_curve_the_replicas_and_the_last_words() -> None:
    job = seen(
        why="worker-1 was evicted",
        left="12 s left",
        progress={"epoch": 4, "epochs": 9, "loss": 0.125},
        losses=LOSSES,
        replicas=[replica("worker-0", "Running", node="n-1"), replica("worker-1", "Failed", exit_code=3)],
    )

    html = html_of(job, "the cluster does not answer")

    assert html.startswith("<div><p><strong>qcnn is Running</strong>, epoch 4/9, loss 0.125, 12 s left</p><img ")
    assert re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", html)[6:] == [
        *("worker-0", "Running", "n-1", "-", "0", "-"),
        *("worker-1", "Failed", "-", "3", "0", "-"),
    ]
    assert html.endswith("<p>worker-1 was evicted</p><p>the cluster does not answer</p></div>")


def test_the_curve_ends_at_the_epoch_of_the_job_and_is_small() -> None:
    job = seen(progress={"epoch": 104}, losses=LOSSES)

    drawn = picture_in(html_of(job))

    assert re.findall(r"training set, epoch (\d+): ([\d.]+)", drawn) == [
        ("101", "0.5"),
        ("102", "0.25"),
        ("104", "0.125"),
    ]
    assert len(html_of(job)) < 10_000


def test_a_job_that_knows_nothing_yet_has_its_phase_alone() -> None:
    assert html_of(seen("Pending", losses=[None])) == "<div><p><strong>qcnn is Pending</strong></p></div>"


def test_what_others_have_written_is_text() -> None:
    job = seen(name="<b>", why="<script>alert(1)</script>", losses=[1.0])

    html = html_of(job, "<i>")

    assert not {"<b>", "<script>", "<i>"} & set(re.findall(r"<[^>]*>", html + picture_in(html)))
