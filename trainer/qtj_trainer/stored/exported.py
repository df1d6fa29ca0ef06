"""Exports the circuits of a trained model beside its weights, so that they can run elsewhere.

<artifacts>/weights/1f3c0a9e2b77.expectation.cirq.json    for cirq.read_json: circuit, readouts and inputs
<artifacts>/weights/1f3c0a9e2b77.expectation.qasm         the circuit in OpenQASM 3, its readouts as comments

The middle part is the name of the layer: at most 100 characters, and only those that a file name can have. A second
layer of that name gets a number. The learned angles are numbers in these files, the data angles are symbols.
"""

import logging
import re
from collections.abc import Container, Iterator
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from qtj_trainer.storage import Store

if TYPE_CHECKING:
    import cirq

    from qtj_simulator.specification import Specification

__all__ = ["circuit_layers", "store_circuits"]

_INVALID = re.compile(r"[^\w.-]", re.ASCII)
_LONGEST = 100
"""Characters of a layer's name in the name of its files, which can have 255 bytes at most."""

log = logging.getLogger("qtj_trainer")


@runtime_checkable
class _Layer(Protocol):
    """A layer with a circuit. A check for the type itself would load Cirq for models without circuits."""

    name: str
    specification: "Specification"

    def bound(self) -> "cirq.AbstractCircuit":
        """Returns the circuit with the learned angles."""


def store_circuits(store: Store, weights: str, model: Any) -> dict[str, list[str]]:
    """Stores each circuit of a model with its learned angles, in Cirq's JSON and, if possible, in OpenQASM 3.

    A circuit that cannot be stored is logged and left out, because the training is complete without it.

    Args:
        store: Where the weights are.
        weights: Name of the weights in the store.
        model: The trained model.

    Returns:
        The names of the files, by the layers' names. A second layer of the same name has a number. Empty for a model
        without circuits.
    """
    files: dict[str, list[str]] = {}
    stems: set[str] = set()
    for layer in circuit_layers(model):
        stem = _unique(_INVALID.sub("_", layer.name)[:_LONGEST], stems)
        stems.add(stem)
        files[_unique(layer.name, files)] = list(_stored(store, f"{weights.rpartition('.')[0]}.{stem}", layer))
    return files


def _unique(name: str, taken: Container[str]) -> str:
    """Returns the name; if it is taken, with the first number that makes it unique."""
    return next(each for each in chain([name], (f"{name}_{number}" for number in count(2))) if each not in taken)


def circuit_layers(model: Any) -> list[_Layer]:
    """Returns the layers of a model that have a circuit; a model may be such a layer itself."""
    return [each for each in (model, *getattr(model, "submodules", ())) if isinstance(each, _Layer)]


def _stored(store: Store, stem: str, layer: _Layer) -> Iterator[str]:
    for suffix, written in (("cirq.json", _as_json), ("qasm", _as_qasm)):
        name = f"{stem}.{suffix}"
        try:
            store.write(name, written(layer).encode())
        except Exception as problem:  # noqa: BLE001  a gate may be of any class, and the training must not be lost
            log.warning("%s is not stored: %s", store.uri(name), " ".join(str(problem).split()))
        else:
            log.info("circuit %s", store.uri(name))
            yield name


def _as_json(layer: _Layer) -> str:
    import cirq

    _, readouts, inputs, _ = layer.specification
    text: str = cirq.to_json({"circuit": layer.bound(), "readouts": list(readouts), "inputs": list(inputs)})
    return text


def _as_qasm(layer: _Layer) -> str:
    from qtj_simulator.qasm import to_qasm

    _, readouts, inputs, _ = layer.specification
    return to_qasm(layer.bound(), readouts, inputs)
