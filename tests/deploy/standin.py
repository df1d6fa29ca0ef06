"""Stands in for gcloud, kubectl and docker: records each call, keeps the files it gets, remembers what was created.

It is copied under the name of each program. `QTJ_STANDIN` names the folder with the record and the memory, and
`QTJ_FAILS` words: a call that has all of them fails, as in an interruption.
"""

import json
import os
import shutil
import sys
from pathlib import Path

FOLDER = Path(os.environ["QTJ_STANDIN"])
MEMORY = FOLDER / "memory.json"
PROGRAM = Path(sys.argv[0]).name
WORDS = [word for word in sys.argv[1:] if not word.startswith("--")]
FLAGS = dict(word[2:].partition("=")[::2] for word in sys.argv[1:] if word.startswith("--"))
VERBS = ("create", "delete", "list", "enable", "rm", "update", "get-iam-policy")


def remember(memory: dict[str, list[str]]) -> str:
    """Carries a call out in the memory, and returns what it prints.

    Raises:
        SystemExit: what a real program would refuse.
    """
    if PROGRAM == "docker":
        return images(memory)
    if PROGRAM == "kubectl":
        return Path(WORDS[1], "deployment.yaml").read_text() if WORDS[0] == "kustomize" else ""
    verb = next((word for word in WORDS if word in VERBS or word.endswith("-policy-binding")), "")
    group, names = " ".join(WORDS[: WORDS.index(verb)]) if verb else "", WORDS[WORDS.index(verb) + 1 :] if verb else []
    if verb.endswith("policy-binding") or verb == "get-iam-policy":
        return policies(memory, verb, f"{group} {names[0]}")
    if verb == "rm":
        group, verb = "storage buckets", "delete"
    if group == "container node-pools":
        group += f" of {FLAGS['cluster']}"
    if verb == "update" or "filter" in FLAGS:
        group, verb = f"{group} with rules", "create" if verb == "update" else verb
    known = memory.setdefault(group, [])
    if (group, verb) == ("container clusters", "delete"):
        memory[f"container node-pools of {names[0]}"] = []
    if (group, verb) == ("storage buckets", "delete"):
        ruled = memory.get("storage buckets with rules", [])
        memory["storage buckets with rules"] = [each for each in ruled if f"gs://{each}" not in names]
    if verb == "list":
        return "\n".join(known) + "\n"
    return change(known, verb, [name_of(group, name) for name in names])


def change(known: list[str], verb: str, names: list[str]) -> str:
    for name in names:
        if verb in {"create", "enable"} and name in known:
            sys.exit(f"{name} already exists")
        if verb in {"create", "enable"}:
            known.append(name)
        if verb == "delete":
            known.remove(name)
    return ""


def name_of(group: str, name: str) -> str:
    """How a list of the group shows what was created under a name."""
    if group == "iam service-accounts" and "@" not in name:
        return f"{name}@{FLAGS['project']}.iam.gserviceaccount.com"
    return name.removeprefix("gs://")


def policies(memory: dict[str, list[str]], verb: str, resource: str) -> str:
    bound = memory.setdefault(f"policy {resource}", [])
    if verb == "get-iam-policy":
        return "\n".join(bound) + "\n"
    line = f"{FLAGS['role']}\t{FLAGS['member']}"
    change(bound, "create" if verb.startswith("add") else "delete", [line])
    return ""


def images(memory: dict[str, list[str]]) -> str:
    pushed = memory.setdefault("images", [])
    if WORDS[:2] == ["manifest", "inspect"] and WORDS[2] not in pushed:
        sys.exit("no such manifest")
    if WORDS[0] == "push":
        pushed.append(WORDS[1])
    return ""


def main() -> None:
    with (FOLDER / "calls.jsonl").open("a") as record:
        record.write(json.dumps([PROGRAM, *sys.argv[1:]]) + "\n")
    for path in (Path(value) for value in FLAGS.values() if value.startswith("/") and Path(value).is_file()):
        shutil.copy(path, FOLDER)
    fails = os.environ.get("QTJ_FAILS", "").split()
    if fails and set(fails) <= {PROGRAM, *WORDS}:
        sys.exit("the connection was lost")
    memory = json.loads(MEMORY.read_text()) if MEMORY.exists() else {}
    sys.stdout.write(remember(memory))
    MEMORY.write_text(json.dumps(memory))


main()
