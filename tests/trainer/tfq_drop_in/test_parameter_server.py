"""The layers under a parameter server, whose workers run no Python."""

import subprocess
import sys

import pytest

from tools.background import free_ports

PROGRAM = """
import sys
import tensorflow as tf
from qtj_simulator import tfq
import cirq
import sympy

addresses = {name: [f"127.0.0.1:{port}"] for name, port in zip(("worker", "ps"), sys.argv[1:])}
cluster = tf.train.ClusterSpec(addresses)
servers = [tf.distribute.Server(cluster, job_name=name, task_index=0) for name in addresses]
resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
strategy = tf.distribute.ParameterServerStrategy(resolver)
coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)

qubit = cirq.GridQubit(0, 0)
model = cirq.Circuit(cirq.rx(sympy.Symbol("a"))(qubit))
circuits = tfq.convert_to_tensor([cirq.Circuit(cirq.X(qubit))])
with strategy.scope():
    layer = tfq.layers.PQC(model, cirq.Z(qubit), initializer=tf.keras.initializers.Constant(0.0))
value = coordinator.schedule(tf.function(lambda: layer(circuits))).fetch()
print(f"value {value.item():.3f}")
sys.stdout.flush()
import os
os._exit(0)  # the servers have no end
"""


@pytest.mark.slow
def test_a_worker_simulates_with_tensorflow_quantum() -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, *map(str, free_ports(2))],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert "value -1.000" in ended.stdout, ended.stderr
    assert "the workers of a parameter server run no Python" in ended.stderr
