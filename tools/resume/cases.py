"""Everything of Keras 2 that has a state."""

import inspect
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import tf_keras as keras

from tools.resume.experiment import Case

_NOT_INSTANCES = {"Optimizer", "LearningRateSchedule", "Callback", "CallbackList"}
"""Base classes, and the list of callbacks."""

HAVE_NO_STATE = {
    *("BaseLogger", "LambdaCallback", "ProgbarLogger", "RemoteMonitor", "TerminateOnNaN"),
    *("BackupAndRestore", "SidecarEvaluatorModelExport"),
}
"""Callbacks that keep nothing from one epoch to the next, or that do themselves what a checkpoint does."""

_STEPS = 4


def names_in(module: ModuleType) -> set[str]:
    """Returns the names of the classes of a module of Keras of which there are instances."""
    return {name for name, each in vars(module).items() if inspect.isclass(each)} - _NOT_INSTANCES


def _optimizer(name: str, **options: Any) -> Callable[[], Any]:
    return lambda: getattr(keras.optimizers, name)(0.01, **options)


def _scaled() -> Any:
    scale = keras.mixed_precision.LossScaleOptimizer
    return scale(keras.optimizers.Adam(0.01), initial_scale=16.0, dynamic_growth_steps=_STEPS)


OPTIMIZERS = (
    *(Case(name, optimizer=_optimizer(name)) for name in sorted(names_in(keras.optimizers))),
    Case("SGD with momentum", optimizer=_optimizer("SGD", momentum=0.9)),
    Case("Adam with an average of the weights (EMA)", optimizer=_optimizer("Adam", use_ema=True)),
    Case("LossScaleOptimizer (mixed precision)", optimizer=_scaled),
)

_SCHEDULES: dict[str, tuple[Any, ...]] = {
    "CosineDecay": (0.1, 12),
    "CosineDecayRestarts": (0.1, 5),
    "ExponentialDecay": (0.1, 5, 0.5),
    "InverseTimeDecay": (0.1, 5, 0.5),
    "PiecewiseConstantDecay": ([4, 8], [0.1, 0.05, 0.01]),
    "PolynomialDecay": (0.1, 12),
}
SCHEDULES = tuple(
    Case(
        name,
        optimizer=lambda name=name, options=options: keras.optimizers.SGD(  # type: ignore[misc]
            getattr(keras.optimizers.schedules, name)(*options)
        ),
    )
    for name, options in _SCHEDULES.items()
)


class _Halves(keras.callbacks.Callback):  # type: ignore[misc]  # Keras has no types
    """Assigns a learning rate, as a program may do."""

    def on_epoch_end(self, epoch: int, logs: object = None) -> None:
        del epoch, logs
        self.model.optimizer.learning_rate.assign(self.model.optimizer.learning_rate / 2)


def _best(folder: Path, **options: Any) -> list[Any]:
    path = str(folder / "best.h5")
    return [keras.callbacks.ModelCheckpoint(path, save_best_only=True, save_weights_only=True, **options)]


CALLBACKS = (
    Case("CSVLogger", callbacks=lambda folder: [keras.callbacks.CSVLogger(folder / "log.csv", append=True)]),
    Case(
        "EarlyStopping",
        callbacks=lambda _: [keras.callbacks.EarlyStopping(patience=2, min_delta=9, restore_best_weights=True)],
    ),
    Case("History", callbacks=lambda _: [keras.callbacks.History()]),
    Case(
        "LearningRateScheduler",
        callbacks=lambda _: [keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / (1 + epoch))],
    ),
    Case("ModelCheckpoint", callbacks=_best),
    Case(
        "ModelCheckpoint with save_freq in steps", callbacks=lambda folder: _best(folder, save_freq=4, monitor="loss")
    ),
    Case(
        "ReduceLROnPlateau",
        callbacks=lambda _: [keras.callbacks.ReduceLROnPlateau(patience=2, min_delta=9, cooldown=1)],
    ),
    Case("TensorBoard", callbacks=lambda folder: [keras.callbacks.TensorBoard(str(folder / "logs"))]),
    Case("an assigned learning rate", callbacks=lambda _: [_Halves()]),
)

_FLAT, _SEQUENCE, _IMAGE, _VOLUME = (6,), (4, 3), (6, 6, 1), (2, 2, 2, 3)
_LAYERS: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "AlphaDropout": (_FLAT, {"rate": 0.5}),
    "BatchNormalization": (_FLAT, {}),
    "Dropout": (_FLAT, {"rate": 0.5}),
    "GRU": (_SEQUENCE, {"units": 4, "dropout": 0.5}),
    "GaussianDropout": (_FLAT, {"rate": 0.5}),
    "GaussianNoise": (_FLAT, {"stddev": 0.5}),
    "LSTM": (_SEQUENCE, {"units": 4, "dropout": 0.5}),
    "RandomBrightness": (_IMAGE, {"factor": 0.5, "value_range": (0, 1)}),
    "RandomContrast": (_IMAGE, {"factor": 0.5}),
    "RandomCrop": (_IMAGE, {"height": 3, "width": 3}),
    "RandomFlip": (_IMAGE, {}),
    "RandomHeight": (_IMAGE, {"factor": 0.5}),
    "RandomRotation": (_IMAGE, {"factor": 0.5}),
    "RandomTranslation": (_IMAGE, {"height_factor": 0.5, "width_factor": 0.5}),
    "RandomWidth": (_IMAGE, {"factor": 0.5}),
    "RandomZoom": (_IMAGE, {"height_factor": 0.5}),
    "SimpleRNN": (_SEQUENCE, {"units": 4, "dropout": 0.5}),
    "SpatialDropout1D": (_SEQUENCE, {"rate": 0.5}),
    "SpatialDropout2D": (_IMAGE, {"rate": 0.5}),
    "SpatialDropout3D": (_VOLUME, {"rate": 0.5}),
}


def _layer(name: str, options: dict[str, Any]) -> Callable[[], list[Any]]:
    return lambda: [getattr(keras.layers, name)(**options)]


_STATEFUL = tuple(
    Case(
        f"{name} with stateful",
        layers=_layer(name, {"units": 4, "stateful": True}),
        shape=_SEQUENCE,
        batch=5,
    )
    for name in ("GRU", "LSTM", "SimpleRNN")
)

LAYERS = tuple(
    sorted(
        (
            *_STATEFUL,
            *(Case(name, layers=_layer(name, options), shape=shape) for name, (shape, options) in _LAYERS.items()),
        ),
        key=lambda case: case.name,
    )
)
