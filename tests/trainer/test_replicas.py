"""Variables of which each replica has its own value, read by all replicas together."""

import subprocess
import sys

import pytest

SCRIPT = """
import numpy as np
import tensorflow as tf
from qtj_trainer.program.keras_variables import put, read_together, separate

(processor,) = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
aggregation = tf.VariableAggregation
variables = {}
with strategy.scope():
    for dtype in (tf.float32, tf.int64):
        means = [aggregation.MEAN] if dtype.is_floating else []
        for how in (aggregation.SUM, aggregation.ONLY_FIRST_REPLICA, *means):
            variables[f"{dtype.name} {how.name}"] = tf.Variable(
                tf.cast([4, 8], dtype), synchronization=tf.VariableSynchronization.ON_READ, aggregation=how,
                trainable=False,
            )
    alike = tf.Variable([1.0])
assert separate({**variables, "alike": alike}, strategy) == variables

def step():
    for variable in variables.values():
        replica = tf.distribute.get_replica_context().replica_id_in_sync_group
        variable.assign(tf.cast([1, 3], variable.dtype) * tf.cast(2 * replica + 1, variable.dtype))

tf.function(lambda: strategy.run(step))()
read = read_together(variables, strategy)
for name, rows in read.items():
    assert rows.dtype == name.partition(" ")[0] and rows.tolist() == [[1, 3], [3, 9]], (name, rows)

for name, variable in variables.items():
    put(variable, read[name] * 2, strategy)
again = read_together(variables, strategy)
for name, rows in again.items():
    assert rows.tolist() == [[2, 6], [6, 18]], (name, rows)

for name, variable in variables.items():  # of three replicas
    put(variable, np.concatenate([read[name], read[name].sum(0, keepdims=True) // 2]), strategy)
read_outside = {"MEAN": [2, 6], "SUM": [6, 18], "ONLY_FIRST_REPLICA": [1, 3]}
for name, variable in variables.items():
    assert variable.numpy().tolist() == read_outside[name.partition(" ")[2]], (name, variable.numpy())
"""


@pytest.mark.slow
def test_each_replica_gets_its_own_value_back_and_other_numbers_of_replicas_what_a_read_returns() -> None:
    ended = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
