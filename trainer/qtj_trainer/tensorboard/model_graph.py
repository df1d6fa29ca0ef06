"""The layers of a Keras model as a graph, for TensorBoard's page of graphs.

A trace of the model would show each of TensorFlow's operations instead. And a process that traces on its own may take
part in an exchange for which its peers do not wait.
"""

from typing import Any

import tensorflow as tf
import tf_keras

__all__ = ["graph_of"]


def graph_of(model: tf_keras.Model) -> Any:
    """Returns a graph with a node for each layer, and the shapes that it returns."""
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
