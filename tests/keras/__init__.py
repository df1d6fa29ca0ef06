"""Tests of the layer of Keras 3, which `tests/trainer/test_keras_layer.py` runs with each backend."""
