"""The circuits of a trained model, beside its weights: for whoever wants to run them elsewhere.

<artifacts>/weights/1f3c0a9e2b77.expectation.cirq.json    for cirq.read_json: circuit, readouts and inputs
<artifacts>/weights/1f3c0a9e2b77.expectation.qasm         the circuit in OpenQASM 3, its readouts as comments

The part in the middle is the name of the layer, without what a file's name cannot have, of 100 characters at most; a
second one of that name has a number. The learned angles are numbers there, the data angles symbols.
"""

import logging
import re
from collections.abc import Container, Iterator
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from qtj_trainer.storage import Store

if TYPE_CHECKING:
    import cirq

    from qtj_trainer.simulate.specification import Specification

__all__ = ["store_circuits"]

_STRANGE = re.compile(r"[^\w.-]", re.ASCII)
_LONGEST = 100
"""Characters of a layer's name in that of its files: those of 255 bytes are the longest that can be."""

log = logging.getLogger("qtj_trainer")


@runtime_checkable
class _Layer(Protocol):
    """A layer with a circuit: to ask for the type itself would load Cirq for models that have none."""

    name: str
    specification: "Specification"

    def bound(self) -> "cirq.AbstractCircuit":
        """Returns the circuit with the learned angles."""


def store_circuits(store: Store, weights: str, model: Any) -> dict[str, list[str]]:  # noqa: ANN401  of either Keras
    """Stores each circuit of a model with its learned angles, in Cirq's JSON and, where it can be, in OpenQASM 3.

    What cannot be stored is left out, and the log says so: the training that is over does not fail for it.

    Args:
        store: Where the weights are.
        weights: Their name there.
        model: The trained model.

    Returns:
        The names of the files, by the layers' names, of which a second one has a number; none for a model without
        circuits.
    """
    files: dict[str, list[str]] = {}
    stems: set[str] = set()
    for layer in _layers(model):
        stem = _another(_STRANGE.sub("_", layer.name)[:_LONGEST], stems)
        stems.add(stem)
        files[_another(layer.name, files)] = list(_stored(store, f"{weights.removesuffix('.h5')}.{stem}", layer))
    return files


def _another(name: str, taken: Container[str]) -> str:
    """Returns the name, with the first number that makes it another one where it is taken."""
    return next(each for each in chain([name], (f"{name}_{number}" for number in count(2))) if each not in taken)


def _layers(model: Any) -> list[_Layer]:  # noqa: ANN401  of either Keras
    return [each for each in getattr(model, "submodules", ()) if isinstance(each, _Layer)]


def _stored(store: Store, stem: str, layer: _Layer) -> Iterator[str]:
    for suffix, written in (("cirq.json", _as_json), ("qasm", _as_qasm)):
        name = f"{stem}.{suffix}"
        try:
            store.write(name, written(layer).encode())
        except Exception as problem:  # noqa: BLE001  a gate may be anything, and hours of training hang on this
            log.warning("%s is not stored: %s", store.uri(name), " ".join(str(problem).split()))
        else:
            log.info("circuit %s", store.uri(name))
            yield name


def _as_json(layer: _Layer) -> str:
    import cirq  # noqa: PLC0415  is loaded already where there is such a layer

    _, readouts, inputs, _ = layer.specification
    text: str = cirq.to_json({"circuit": layer.bound(), "readouts": list(readouts), "inputs": list(inputs)})
    return text


def _as_qasm(layer: _Layer) -> str:
    from qtj_trainer.simulate.qasm import to_qasm  # noqa: PLC0415

    _, readouts, inputs, _ = layer.specification
    return to_qasm(layer.bound(), readouts, inputs)
