"""The reference of the Python interface, from its docstrings. Sources are read, not imported, which takes seconds."""

from collections.abc import Iterator
from pathlib import Path

from griffe import (
    Alias,
    Attribute,
    Class,
    DocstringSection,
    DocstringSectionAttributes,
    DocstringSectionParameters,
    DocstringSectionRaises,
    DocstringSectionReturns,
    DocstringSectionText,
    DocstringSectionYields,
    Function,
    GriffeLoader,
    Object,
    Parameter,
    ParameterKind,
    Parser,
)

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs/reference/python.md"

PUBLIC = {
    "Jobs from Python": (
        "qtj.Job",
        "qtj.Handle",
        "qtj.Study",
        "qtj.StudyHandle",
        "qtj.Table",
        "qtj.Weights",
        "qtj.Report",
        "qtj.InputError",
        "qtj.JobFailedError",
        "qtj.NotFinishedError",
        "qtj.StudyFailedError",
    ),
    "A program of one's own": (
        "qtj_trainer.Program",
        "qtj_trainer.load",
        "qtj_trainer.program.epochs.RunningEpoch",
        "qtj_trainer.arrays.tree.State",
        "qtj_trainer.errors.TryAgainError",
    ),
    "The replicator": (
        "qtj_trainer.replicate.Replicator",
        "qtj_trainer.replicate.Input",
        "qtj_trainer.replicate.all_reduce",
        "qtj_trainer.replicate.all_gather",
        "qtj_trainer.replicate.broadcast",
    ),
    "Circuits without TensorFlow": (
        "qtj_simulator.expectation_engine",
        "qtj_simulator.Engine",
        "qtj_simulator.state_engine",
        "qtj_simulator.StateEngine",
        "qtj_simulator.fidelities",
        "qtj_simulator.optimizers.Optimizer",
        "qtj_simulator.optimizers.Adam",
        "qtj_simulator.optimizers.Spsa",
        "qtj_simulator.optimizers.NaturalGradient",
        "qtj_simulator.UnsupportedError",
    ),
    "Circuits in a model": (
        "qtj_simulator.PQC",
        "qtj_simulator.expectation_layer",
        "qtj_simulator.NoisyPQC",
        "qtj_simulator.Estimate",
    ),
    "Circuits in Keras 3, PyTorch and JAX": (
        "qtj_simulator.keras.KerasLayer",
        "qtj_simulator.torch.TorchLayer",
        "qtj_simulator.torch.expectation_function",
        "qtj_simulator.jax.expectation_function",
    ),
    "Layers of TensorFlow Quantum": (
        "qtj_simulator.tfq.layers.PQC",
        "qtj_simulator.tfq.layers.ControlledPQC",
        "qtj_simulator.tfq.layers.Expectation",
    ),
}
"""What is documented, by chapter, each under the name by which a program imports it."""

_HEAD = """\
# Python reference

What a program imports from `qtj`, `qtj_trainer` and `qtj_simulator`. Generated from the docstrings by `make reference`.
[contract.md](contract.md) says how the parts are used together, [engine.md](../design/engine.md) what a circuit may be.
"""


def reference() -> str:
    """Returns the reference as Markdown."""
    loader = GriffeLoader(search_paths=[ROOT / "operator", ROOT / "trainer"], docstring_parser=Parser.google)
    loader.load("qtj")
    loader.load("qtj_trainer")
    loader.load("qtj_simulator")
    loader.resolve_aliases(implicit=True, external=False)
    lines = [_HEAD]
    for chapter, names in PUBLIC.items():
        lines += [f"## {chapter}", ""]
        for name in names:
            lines += [*_object(name, _found(loader, name)), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _found(loader: GriffeLoader, name: str) -> Object:
    found = loader.modules_collection[name]
    target = found.final_target if isinstance(found, Alias) else found
    assert isinstance(target, Object)
    return target


def _object(name: str, found: Object) -> Iterator[str]:
    yield f"### `{name}`"
    yield ""
    if isinstance(found, Function):
        yield from _signature(found.name, found)
    yield from _docstring(found)
    if isinstance(found, Class):
        yield from _members(found)


def _members(found: Class) -> Iterator[str]:
    for name, member in [*found.members.items(), *_inherited(found)]:
        if name == "__init__" and isinstance(member, Function) and member.docstring:
            yield from _signature(found.name, member)
            yield from _docstring(member)
        elif not name.startswith("_") and isinstance(member, Function | Attribute) and member.docstring:
            yield from (f"#### `{found.name}.{name}`", "")
            if isinstance(member, Function):
                yield from _signature(name, member)
            yield from _docstring(member)


def _inherited(found: Class) -> Iterator[tuple[str, Object]]:
    """Yields the public members of a class that it has from another one of ours."""
    for name, member in found.inherited_members.items():
        if not name.startswith("_") and isinstance(member.final_target, Object):
            yield name, member.final_target


def _signature(name: str, found: Function) -> Iterator[str]:
    shown = [each for each in found.parameters if each.name not in {"self", "cls"}]
    parts = [_parameter(each) for each in shown]
    named = [position for position, each in enumerate(shown) if each.kind is ParameterKind.keyword_only]
    if named and ParameterKind.var_positional not in {each.kind for each in shown}:
        parts.insert(named[0], "*")
    returned = f" -> {found.returns}" if found.returns else ""
    line = f"{name}({', '.join(parts)}){returned}"
    if len(line) > 100:  # as a formatter would break it
        line = f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returned}"
    yield from ("```python", line, "```", "")


def _parameter(parameter: Parameter) -> str:
    stars = "*" if parameter.kind is ParameterKind.var_positional else ""
    stars = "**" if parameter.kind is ParameterKind.var_keyword else stars
    default = f" = {parameter.default}" if parameter.default and not stars else ""
    return f"{stars}{parameter.name}: {parameter.annotation}{default}"


def _docstring(found: Object) -> Iterator[str]:
    for section in found.docstring.parsed if found.docstring else ():
        yield from _section(section)


def _section(section: DocstringSection) -> Iterator[str]:
    match section:
        case DocstringSectionText():
            yield section.value
        case DocstringSectionParameters() | DocstringSectionAttributes():
            title = "Attributes" if isinstance(section, DocstringSectionAttributes) else "Arguments"
            yield from (f"{title}:", "", *(f"* `{each.name}`: {_line(each.description)}" for each in section.value))
        case DocstringSectionReturns() | DocstringSectionYields():
            title = "Yields" if isinstance(section, DocstringSectionYields) else "Returns"
            yield f"{title}: {_line(section.value[0].description)}"
        case DocstringSectionRaises():
            yield from ("Raises:", "", *(f"* `{each.annotation}`: {_line(each.description)}" for each in section.value))
        case _:
            raise ValueError(f"a docstring has a section of the kind {section.kind}, which the reference does not show")
    yield ""


def _line(text: str) -> str:
    return " ".join(text.split())
