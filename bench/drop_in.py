"""`make bench-tfq`: programs of TensorFlow Quantum with the drop-in module beside the same with TensorFlow Quantum.

Both run in this process, in turns. A step is the gradient of a `PQC` in a graph; its times are minima over the rounds.
A tutorial's time includes tracing and planning.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

from bench.tutorials import TUTORIALS, bright_pixels, pixel_model, seeded

_BATCH = 32


def step(tfq: Any, pixels: int) -> Callable[[], Any]:
    """One training gradient of the images' model."""
    import tensorflow as tf

    circuit, readout = pixel_model(pixels)
    layer = tfq.layers.PQC(circuit, readout, initializer=seeded())
    images, labels = bright_pixels(_BATCH, pixels)
    data = tfq.convert_to_tensor(images)

    @tf.function  # type: ignore[untyped-decorator]  # TensorFlow carries no types
    def gradient(circuits: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((layer(circuits) - labels) ** 2)
        return tape.gradient(loss, layer.parameters)

    return lambda: gradient(data).numpy()


def seconds(call: Callable[[], Any]) -> float:
    """Runs it once."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def row(name: str, calls: list[Callable[[], Any]], rounds: int) -> float:
    """Prints the times of TensorFlow Quantum's and of ours, and returns their ratio."""
    taken = [[seconds(call) for call in calls] for _ in range(rounds)]
    theirs, ours = (min(times[index] for times in taken) for index in range(2))
    print(f"{name:24} tfq {1e3 * theirs:9.2f} ms  ours {1e3 * ours:9.2f} ms  x{theirs / ours:.1f}", flush=True)
    return theirs / ours


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pixels", type=int, nargs="+", default=[4, 8, 12, 16])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    os.environ["TF_NUM_INTRAOP_THREADS"] = str(options.threads)

    from qtj_simulator import tfq  # noqa: I001  before TensorFlow Quantum: it chooses Keras 2
    import tensorflow_quantum

    modules = (tensorflow_quantum, tfq)
    for tutorial in TUTORIALS:
        row(tutorial.__name__, [lambda module=module, run=tutorial: run(module) for module in modules], 1)  # type: ignore[misc]
    steps = []
    for pixels in options.pixels:
        calls = [step(module, pixels) for module in modules]
        for call in calls:
            call()  # traces and plans
        steps.append(row(f"step, {pixels + 1} qubits", calls, options.rounds))
    print(f"tfq: {len(steps)} sizes, batch {_BATCH}, least step ratio {min(steps):.1f}")


if __name__ == "__main__":
    main()
