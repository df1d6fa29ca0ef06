"""What TensorBoard shows of a training besides its curves: options, the layers, and the circuits."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
import tf_keras
from tensorboard.plugins.hparams import api_pb2, summary

from qtj_trainer.stored.exported import circuit_layers

__all__ = ["ModelSummary", "write_success", "write_summary"]

log = logging.getLogger("qtj_trainer")


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """What is the same in all steps.

    Attributes:
        options: By which TensorBoard compares runs.
        model: The model.
        drawing: Its circuit as text; empty without one.
    """

    options: Mapping[str, Any]
    model: tf_keras.Model
    drawing: str = ""


def write_summary(found: ModelSummary, name: str, run: Any, train: Any, step: int) -> None:
    """Writes what is known. A part that cannot be drawn is logged and left out.

    Args:
        found: What is known.
        name: Name of the run.
        run: The writer of the run itself.
        train: The writer of its curves.
        step: The step after which training continues.
    """
    with run.as_default(0):
        _write(summary.session_start_pb(_shown(found.options), group_name=name))
    with train.as_default(step):
        if found.drawing:
            tf.summary.text("circuit", f"```\n{found.drawing}\n```")
        try:
            tf.summary.graph(_graph_of(found.model))
            for layer, pixels in _pictures(found.model):
                tf.summary.image(f"model/circuit/{layer}", pixels[None])
        except Exception as problem:  # noqa: BLE001  a gate may be of any class, and training must not end for a picture
            log.warning("TensorBoard has no picture of the model: %s", " ".join(str(problem).split()))


def write_success() -> None:
    """Writes that the training is done, to the default writer."""
    _write(summary.session_end_pb(api_pb2.STATUS_SUCCESS))


def _write(message: Any) -> None:
    tf.summary.experimental.write_raw_pb(message.SerializeToString())


def _shown(options: Mapping[str, Any]) -> dict[str, bool | float | str]:
    """Returns options as TensorBoard takes them: it knows no choices, which become their text."""
    plain = (bool, int, float)
    return {name: value if isinstance(value, plain) else str(value) for name, value in options.items()}


def _pictures(model: tf_keras.Model) -> Iterator[tuple[str, Any]]:
    """Yields each circuit of a model once, with the name of its first layer: filters have the same circuit."""
    from qtj_trainer.tensorboard.circuit_picture import picture

    seen: list[Any] = []
    for layer in circuit_layers(model):
        circuit = layer.specification.circuit
        if circuit not in seen:
            seen.append(circuit)
            yield layer.name, picture(circuit)


def _graph_of(model: tf_keras.Model) -> Any:
    """Returns the layers of a model as a graph, with the shapes that they return, for TensorBoard's page of graphs.

    A trace of the model would show each of TensorFlow's operations instead. And a process that traces on its own may
    take part in an exchange for which its peers do not wait.
    """
    graph = tf.compat.v1.GraphDef()
    for layer in model.layers:
        node = graph.node.add(name=layer.name, op=type(layer).__name__)
        node.input.extend(_names_before(layer, model))
        for shape in _shapes(layer):
            node.attr["_output_shapes"].list.shape.append(tf.TensorShape(shape).as_proto())
    return graph


def _names_before(layer: tf_keras.layers.Layer, model: tf_keras.Model) -> list[str]:
    """Returns the names of the layers of the model whose values a layer takes."""
    mine = {each.name for each in model.layers}
    before = [each for node in layer.inbound_nodes for each in tf.nest.flatten(node.inbound_layers)]
    return list(dict.fromkeys(each.name for each in before if each.name in mine))


def _shapes(layer: tf_keras.layers.Layer) -> list[tuple[int | None, ...]]:
    shapes = layer.output_shape
    return shapes if isinstance(shapes, list) else [shapes]
