"""A gang of real processes under `qtj run`, of which one sleeps in each step."""

import json
from typing import Any

import pytest

from qtj.local.folder import EVENTS
from tests.local.laptop import Laptop, eventually

PROGRAM = """
import json, os, time
from qtj_trainer import Program

program = Program(epochs=1000)

import tensorflow as tf

index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
strategy = tf.distribute.MultiWorkerMirroredStrategy()
x = tf.random.stateless_normal([64, 3], seed=[0, 0])
data = tf.data.Dataset.from_tensor_slices((x, x[:, :1])).batch(8)
options = tf.data.Options()
options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile(tf.keras.optimizers.Adam(0.1), loss="mse")
    first = program.restore(model)


class Sleeps(tf.keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        time.sleep(0.4 if index == 1 else 0.0)


callbacks = [Sleeps(), program.callback()]
model.fit(data.with_options(options), epochs=1000, initial_epoch=first, callbacks=callbacks, verbose=0)
"""


def events(laptop: Laptop) -> list[str]:
    lines = (laptop.artifacts("slow") / EVENTS).read_text().splitlines()
    return [found["message"] for line in lines if (found := json.loads(line))["reason"] == "Straggler"]


def steps(laptop: Laptop) -> dict[str, Any]:
    found: dict[str, Any] = laptop.record("slow")["status"].get("steps") or {}
    return found


@pytest.mark.slow
def test_the_worker_that_sleeps_is_named(laptop: Laptop) -> None:
    (laptop.folder / "slow.py").write_text(PROGRAM)
    running = laptop.start("run", "slow.py", "--workers", "2")
    eventually((laptop.artifacts("slow") / "job.json").exists)

    eventually(lambda: steps(laptop).get("stragglers"), seconds=400)
    found = steps(laptop)
    [straggler] = found["stragglers"]
    eventually(lambda: events(laptop))
    status = laptop.qtj("status", "slow").output
    running.interrupt()
    running.end()

    assert straggler["replica"] == "worker-1"
    assert straggler["ownSeconds"] > 0.4 > 2 * straggler["peerSeconds"]
    assert found["seconds"] > 0.4
    assert [message.startswith("worker-1 on node ") for message in events(laptop)] == [True]
    assert "replicas are ready; worker-1 on node" in status
    assert "OWN STEP" in status
