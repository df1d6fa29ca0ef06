"""A stream in memory instead of stdout."""

import io

__all__ = ["Memory"]


class Memory(io.TextIOWrapper):
    """Takes text and bytes, as stdout does."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, "utf-8", write_through=True)

    @property
    def text(self) -> str:
        """What was written."""
        return self._bytes.getvalue().decode(errors="replace")
