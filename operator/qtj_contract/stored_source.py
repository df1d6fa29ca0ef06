"""Where the programs of a run are stored, below its artifacts, so that it can be repeated and compared.

source/1/source.json      programs, their data and their arguments, as the run started
source/1/train.py, ...    their text
source/1/origin.json      commit, versions, machine and image of the last process that has trained with them
source/2/...              the same, after another program has continued the run
"""

import json
import re
from collections.abc import Iterable, Mapping

from qtj_contract.program_source import ProgramSource
from qtj_contract.values import decoded

__all__ = ["FOLDER", "changes", "newest", "origin_name", "programs_from", "stored_files"]

FOLDER = "source"
_NAME = re.compile(rf"{FOLDER}/(\d{{1,6}})/source\.json")

Programs = Mapping[str, ProgramSource]
"""Programs by the path of the script, as the job or the shell names it."""


def newest(names: Iterable[str]) -> int:
    """Returns the highest number of stored programs among the names of files; 0 without any."""
    return max((int(found[1]) for name in names if (found := _NAME.fullmatch(name))), default=0)


def origin_name(number: int) -> str:
    """Returns the name of the file with the origin of stored programs, see `qtj_contract.origin`."""
    return f"{FOLDER}/{number}/origin.json"


def stored_files(programs: Programs, number: int) -> Mapping[str, bytes]:
    """Returns the files to store, by name. Of two files of one name, only the JSON text has both."""
    folder = f"{FOLDER}/{number}"
    code = {name: text for each in programs.values() for name, text in each.code.items()}
    whole = json.dumps({path: each.to_dict() for path, each in programs.items()}, indent=1, sort_keys=True)
    return {
        **{f"{folder}/{name}": text.encode() for name, text in code.items()},
        f"{folder}/source.json": whole.encode(),
    }


def programs_from(data: bytes) -> Programs:
    """Reads a `source.json`.

    Raises:
        ValueError: It is something else.
    """
    fields = decoded(data)
    if not isinstance(fields, dict):
        raise ValueError("not an object")
    return {str(path): ProgramSource.from_dict(each) for path, each in fields.items()}


def changes(earlier: Programs, now: Programs) -> list[str]:
    """Returns what differs, a few words each. A script that only one of them has is named alone."""
    found: dict[str, None] = {}
    for path in sorted({*earlier, *now}):
        if path not in earlier or path not in now:
            found[f"{path} {'is new' if path in now else 'is not run any more'}"] = None
        else:
            found |= dict.fromkeys(now[path].changes_since(earlier[path]))
    return list(found)
