"""The program of the init container that installs `spec.program.requirements`, as text: it runs in the user's image.

It uses the standard library of Python 3.8 or later alone, because nothing of this project need be in that image.

* What the image has stays. pip gets its packages as constraints, counts them as installed, and installs into a prefix
  of its own only what is missing. So nothing hides the image's TensorFlow or NumPy, and what contradicts them is
  refused. (`--target` would install all dependencies a second time, and these would be imported first.)
* An image may have pip for another Python alone, as that of the trainer has: `pip --python` runs it with this one.
* pip says why it fails in one of its lines with ERROR: the first one, because later ones only repeat it or refer to the
  documentation. What it lists below that line belongs to it.
* What pip could not fetch is only in its log, and later looks like a version that does not exist.
* Exit code 75, by the contract, asks to be run again: the index did not answer. Every other one is final.
"""

__all__ = ["INSTALLER"]

INSTALLER = r"""
import glob, json, os, re, shutil, subprocess, sys
from importlib import metadata, util

RETRY, MOST = 75, 400
UNFETCHED = re.compile("Could not fetch URL (.*?)(?: - skipping)?$")
NETWORK = re.compile(
    "connection error|Max retries exceeded|[Tt]imed out|IncompleteRead|5[0-9][0-9] Server Error|HTTP error 5[0-9][0-9]"
)
FINAL = re.compile("CERTIFICATE_VERIFY_FAILED|WRONG_VERSION_NUMBER|Invalid URL|No space left on device")
CONFLICT = "The conflict is caused by:"
KNOWN = {
    "THESE PACKAGES DO NOT MATCH THE HASHES": "what was downloaded has another hash than the requirements say:",
    "Hashes are required": "hashes are missing; add them, or set hashes to Optional:",
    "In --require-hashes mode, all requirements": "what has a hash needs a version with ==:",
}


def fail(code, sentence):
    sentence = re.sub("//[^/@ ]*@", "//****@", " ".join(sentence.split()))
    sentence = "spec.program.requirements cannot be installed: " + sentence[:MOST]
    print(sentence, file=sys.stderr)
    with open(os.environ.get("QTJ_TERMINATION_LOG", "/dev/termination-log"), "w") as log:
        json.dump({"error": sentence}, log)
    sys.exit(code)


def pip():
    if util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if shutil.which("pip"):
        return ["pip", "--python", sys.executable]
    return fail(1, "the image has no pip: choose one that has pip, or one that has the packages")


def present():
    found = {}
    for each in metadata.distributions():
        name, version = each.metadata["Name"], each.version
        if name and version and re.fullmatch("[0-9][0-9A-Za-z.!+_-]*", version):
            found.setdefault(re.sub("[-_.]+", "-", name).lower(), version)
    return [name + "==" + version for name, version in found.items()]


def written(folder, name, lines):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.writelines(line + "\n" for line in lines)
    return path


def below(lines, first):
    found = []
    for line in lines[first + 1:]:
        if not line.startswith("  "):
            break
        found.append(line.strip())
    return found


def reason(lines):
    if CONFLICT in lines:
        causes = ", and ".join(below(lines, lines.index(CONFLICT)))
        causes = causes.replace("The user requested (constraint)", "the image has")
        return "they contradict each other or the image: " + causes.replace("The user requested", "you ask for")
    errors = [number for number, line in enumerate(lines) if line.startswith("ERROR: ")]
    if not errors:
        return next(filter(None, reversed(lines)), "pip left no message")
    said = lines[errors[0]][len("ERROR: "):]
    if said.startswith("Exception:"):
        return lines[-1]
    said = next((mine for theirs, mine in KNOWN.items() if said.startswith(theirs)), said)
    return " ".join([said] + below(lines, errors[0]))


def judge(lines, log):
    found = [match.group(1) for match in map(UNFETCHED.search, log) if match]
    unfetched = [each for each in found if "404 Client Error" not in each]
    said = unfetched[-1] if unfetched else reason(lines)
    if not NETWORK.search(said) or FINAL.search(said):
        return 1, said
    cause = re.search(r"Caused by (\w+\(.*\))\)", said)
    return RETRY, "the index does not answer: " + re.sub("<[^>]*>: ", "", cause.group(1) if cause else said)


def run(command, temporary):
    output = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, errors="replace")
    lines = []
    with subprocess.Popen(command, env=dict(os.environ, TMPDIR=temporary), **output) as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip())
    return process.returncode, lines


def main(folder, words):
    work, new, site = (os.path.join(folder, name) for name in ("work", "new", "site"))
    for each in (work, new, site):
        shutil.rmtree(each, ignore_errors=True)
        os.makedirs(each)
    split = words.index("--")
    options, packages = words[:split], words[split + 1:]
    options += ["--constraint=" + written(work, "image.txt", present())]
    if packages:
        options += ["--requirement=" + written(work, "packages.txt", packages)]
    quiet = ["--disable-pip-version-check", "--no-input", "--no-warn-conflicts", "--progress-bar=off"]
    log = os.path.join(work, "pip.log")
    code, lines = run(pip() + ["install", "--prefix=" + new, "--log=" + log] + quiet + options, work)
    if code < 0:
        fail(128 - code, "pip was killed by signal %d" % -code)
    if code:
        with open(log, errors="replace") as file:
            fail(*judge(lines, file))
    for found in glob.glob(new + "/lib*/python*/*-packages") + glob.glob(new + "/local/lib*/python*/*-packages"):
        shutil.copytree(found, site, copy_function=shutil.move, dirs_exist_ok=True)
    shutil.rmtree(work)
    shutil.rmtree(new)


main(sys.argv[1], sys.argv[2:])
"""
