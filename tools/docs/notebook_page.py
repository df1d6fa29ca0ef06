"""A notebook as a page of the site: its text, its code, and what its cells have shown when it was run."""

import json
from collections.abc import Iterator, Mapping
from typing import Any


def notebook_page(text: str) -> str:
    """Returns the Markdown of a notebook.

    Args:
        text: The notebook, as it is stored.
    """
    return "\n\n".join(part for cell in json.loads(text)["cells"] for part in _parts(cell)) + "\n"


def _parts(cell: Mapping[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield _block("python", source)
    for output in cell["outputs"]:
        yield _shown(output)


def _shown(output: Mapping[str, Any]) -> str:
    if output["output_type"] == "stream":
        return _block("text", "".join(output["text"]))
    data = output["data"]
    if html := data.get("text/html"):
        return _block("{raw} html", "".join(html))
    return _block("text", "".join(data["text/plain"]))


def _block(kind: str, text: str) -> str:
    return f"````{kind}\n{text.rstrip()}\n````"
