"""Whether a user's script may be forked from a process that has already imported what it imports.

This is decided from its text and that of its local modules, without running them. In doubt it starts alone:

* The script imports `qtj_trainer` or `qtj_simulator` before TensorFlow: they set what TensorFlow reads at its import.
* All packages that it imports are known, and no file beside it or in the working directory hides one of them.
* It names nothing that starts processes, imports by a computed name, or reads the environment, in which each import may
  have set something.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path

from qtj_contract.program_source import MOST_FILES, parsed, read_modules

__all__ = ["imports_of"]

_FIRST = frozenset({"qtj_simulator", "qtj_trainer"})
_TENSORFLOW = frozenset({"tensorflow", "tensorflow_quantum", "tf_keras"})
_LIBRARIES = frozenset(
    {"cirq", "h5py", "matplotlib", "networkx", "numpy", "pandas", "scipy", "sklearn", "sympy", "yaml"}
)
Trees = Mapping[str, ast.Module]
"""The script and its modules, by their names in its folder."""

_KNOWN = _FIRST | _TENSORFLOW | _LIBRARIES | sys.stdlib_module_names
_LOADED = _KNOWN - sys.stdlib_module_names - {"tensorflow_quantum"}
"""What is loaded before a fork. The import of TensorFlow Quantum starts threads, which a fork does not copy."""
_SEARCH_PATH = "sys.path"
_FORBIDDEN = frozenset({
    "environ", "environb", "getenv", "getenvb", "putenv", "unsetenv", "expandvars",
    "concurrent", "fork", "forkpty", "multiprocessing", "popen", "posix_spawn", "posix_spawnp", "pty", "subprocess",
    "create_subprocess_exec", "create_subprocess_shell", "system", "execv", "execve", "execvp", "execvpe", "execl",
    "execle", "execlp", "execlpe", "spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp",
    "spawnvpe",
    "__import__", "_getframe", "ctypes", "eval", "exec", "import_module", "importlib", "meta_path", "modules",
    "path_hooks", "pkgutil", "runpy", "site", "zipimport",
    "jax", "torch",
    "*", "addsitedir", _SEARCH_PATH,
})  # fmt: skip
"""`from pkg import *` may import modules that nothing here names."""


def imports_of(command: Sequence[str], folder: Path) -> str | None:
    """Returns the statements by which a script imports packages, one a line; None if it has to start alone.

    Args:
        command: Python, the script and its arguments.
        folder: The working directory.
    """
    try:
        script = (folder / command[1]).resolve(strict=True)
        code = read_modules(script.name, script.parent)
        trees = {name: parsed(text) for name, text in code.items()}
        is_safe = script.suffix == ".py" and script.name in trees and len(trees) < MOST_FILES
        if is_safe and _is_plain(trees, script.name) and not _hide_others({script.parent, folder.resolve()}):
            return "\n".join(dict.fromkeys(_statements(trees)))
    except (IndexError, OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return None


def _is_plain(trees: Trees, script: str) -> bool:
    """Returns whether a program imports only what is known, ours first, and names nothing that is forbidden."""
    packages = {name for tree in trees.values() for node in ast.walk(tree) for name in _packages_of(node)}
    is_known = packages <= _KNOWN | _local(trees)
    return is_known and _begins_with_ours(trees[script]) and not _FORBIDDEN & {*_names(trees.values())}


def _local(trees: Trees) -> set[str]:
    """Returns the names by which a program imports its own modules."""
    return {name.partition("/")[0].removesuffix(".py") for name in trees}


def _begins_with_ours(script: ast.Module) -> bool:
    """Returns whether a script imports a package of ours before it runs anything, or imports a module of its own."""
    for statement in script.body:
        packages = {*_packages_of(statement)}
        if packages & _FIRST:
            return len(packages) == 1
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not is_text and not (packages and packages <= (_LIBRARIES | sys.stdlib_module_names)):
            return False
    return False


def _packages_of(node: ast.AST) -> Iterator[str]:
    """Yields the packages that a statement imports, without those of a relative import, which is local."""
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and not node.level:
        yield str(node.module).partition(".")[0]


def _names(trees: Iterable[ast.Module]) -> Iterator[str]:
    """Yields all names, and texts that may be names for `getattr`."""
    for node in (node for tree in trees for node in ast.walk(tree)):
        match node:
            case ast.Attribute(value=ast.Name(id="sys"), attr="path"):
                yield _SEARCH_PATH
            case ast.ImportFrom(module="sys", names=names) if any(each.name == "path" for each in names):
                yield _SEARCH_PATH
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                yield from name.split(".")
            case ast.ImportFrom(module=module, names=names):
                yield from f"{module}.{'.'.join(each.name for each in names)}".split(".")
            case ast.Import(names=names):
                yield from ".".join(each.name for each in names).split(".")


def _hide_others(folders: set[Path]) -> bool:
    """Returns whether a module in these folders has the name of one elsewhere, which may be imported by then."""
    others = [path for path in sys.path if path and Path(path).resolve() not in folders]
    names = {name for folder in folders for name in _modules_in(folder)}
    found = (PathFinder.find_spec(name, others) for name in names - _KNOWN)
    return bool(names & _KNOWN) or any(each and each.loader for each in found)  # a mere folder elsewhere hides nothing


def _modules_in(folder: Path) -> Iterator[str]:
    for each in folder.iterdir():
        if each.suffix in {".py", ".pyc", ".so"} or (each / "__init__.py").exists():
            yield each.name.partition(".")[0]


def _statements(trees: Trees) -> Iterator[str]:
    """Yields the imports of packages that are loaded before a fork: only those that every run of the program takes."""
    packages = _LOADED - _local(trees)
    for node in (node for tree in trees.values() for node in tree.body):
        if (imported := {*_packages_of(node)}) and imported <= packages:
            yield ast.unparse(node)
