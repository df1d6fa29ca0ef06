"""One program for one device, many devices and many processes, after TF-Replicator.

Buchlovsky et al., "TF-Replicator: Distributed machine learning for researchers" (2019), arXiv:1902.00465, section 3.
A researcher writes the input of one replica and its step; the environment sets the rest:

    with Replicator() as replicator:
        with replicator.scope():
            model, optimizer = ..., replicator.wrap_optimizer(tf_keras.optimizers.SGD(0.1))
        for loss in replicator.run(step_fn, input_fn, steps=100):
            ...

Within `step_fn`, replicas exchange tensors by `all_reduce`, `all_gather` and `broadcast`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qtj_trainer.replicate.primitives import all_gather, all_reduce, broadcast
    from qtj_trainer.replicate.replicator import Input, Replicator

__all__ = ["Input", "Replicator", "all_gather", "all_reduce", "broadcast"]

_HOMES = {
    **dict.fromkeys(("Input", "Replicator"), "replicator"),
    **dict.fromkeys(("all_gather", "all_reduce", "broadcast"), "primitives"),
}


def __getattr__(name: str) -> Any:
    """Imports what needs TensorFlow when it is first used: the rest of this package is used before TensorFlow."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
