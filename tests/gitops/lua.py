"""The health check as a plain Lua program, run by the interpreter that Argo CD contains."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.gitops.settings_file import FOLDER
from tests.missing import find_program
from tools.cluster.tools import LUA

_PROGRAM = """\
obj = {job}
local result = (function()
{script}
end)()
print(result.status)
print(result.message)
"""


def health(job: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Returns the health of an object by deploy/argocd/health.lua.

    Args:
        job: The object.
        folder: Where the program is written.
    """
    program = folder / "health.lua"
    program.write_text(_PROGRAM.format(job=_literal(job), script=(FOLDER / "health.lua").read_text()))
    argv = (find_program(LUA, "glua"), program)
    answer = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    status, message = answer.stdout.strip().split("\n")
    return {"status": status, "message": message}


def _literal(value: Any) -> str:
    """Returns a JSON value as Argo CD gives it to a script: null is the absence of a field."""
    if isinstance(value, Mapping):
        fields = (f"[{_literal(key)}] = {_literal(item)}" for key, item in value.items() if item is not None)
        return f"{{{', '.join(fields)}}}"
    if isinstance(value, str):
        return '"' + "".join(f"\\{byte:03}" for byte in value.encode()) + '"'
    if isinstance(value, Sequence):
        return f"{{{', '.join(map(_literal, value))}}}"
    return str(value).lower() if isinstance(value, bool) else repr(value)
