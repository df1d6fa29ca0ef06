"""The largest cut of a small graph, by the quantum approximate optimization algorithm (arXiv:1411.4028).

All cuts of the graph are counted too, which says how good the result is. The program also runs without a job:
python examples/qaoa.py
"""

import argparse

from qtj_trainer import Program

EPOCHS = 5
arguments = argparse.ArgumentParser()
arguments.add_argument("--seed", type=int, default=0, help="of the angles that the training begins with")
arguments.add_argument("--graph", type=int, default=0, help="which graph: the seed that it is drawn with")
arguments.add_argument("--nodes", type=int, default=8, help="an even number")
arguments.add_argument("--layers", type=int, default=3)
arguments.add_argument("--learning-rate", type=float, default=0.03)
given = arguments.parse_args()
program = Program(epochs=EPOCHS)

import cirq
import networkx as nx
import numpy as np
import sympy

from qtj_simulator import expectation_engine
from qtj_simulator.optimizers import Adam

STEPS = 40  # of an epoch
graph = nx.random_regular_graph(3, given.nodes, seed=given.graph)  # each node has three neighbours
line, names = cirq.LineQubit.range(given.nodes), list(sympy.symbols(f"angle0:{2 * given.layers}"))
equal = sum(cirq.Z(line[a]) * cirq.Z(line[b]) for a, b in graph.edges)


def circuit() -> cirq.Circuit:
    """Begins with all cuts at once. Each layer marks them by their size, and mixes them."""
    made = cirq.Circuit(cirq.H.on_each(*line))
    for size, mix in zip(names[::2], names[1::2], strict=True):
        made += [cirq.ZZ(line[a], line[b]) ** size for a, b in graph.edges]
        made += [cirq.X(qubit) ** mix for qubit in line]
    return made


def largest_cut() -> int:
    """Returns the size of the largest cut, by counting each of them."""
    sides = (np.arange(2**given.nodes)[:, None] >> np.arange(given.nodes)) & 1
    return int(max(sum(sides[:, a] != sides[:, b] for a, b in graph.edges)))


engine = expectation_engine(circuit(), equal, weights=names, dtype="float64")
nothing = np.zeros((1, 0))  # there are no examples


def found(angles: np.ndarray) -> dict[str, float]:
    """Returns the mean size of a measured cut, and its share of the largest one."""
    cut = (graph.number_of_edges() - float(engine.values(nothing, angles)[0, 0])) / 2
    return {"cut": cut, "largest_cut": largest_cut(), "ratio": cut / largest_cut()}


draw = np.random.default_rng(given.seed)
angles = draw.uniform(0.05, 0.25, len(names)) * np.tile([1, -1], given.layers)
if program.inferring:
    program.report(found(program.load(angles)))

optimizer = Adam(lambda at: engine.gradients(nothing, at, np.ones((1, 1)))[1], given.learning_rate)
state = program.state(angles=angles, memory=optimizer.memory(angles))
for epoch in program.epochs():
    for step in range((epoch.number - 1) * STEPS + 1, epoch.number * STEPS + 1):
        state.angles, state.memory = optimizer.step(step, state.angles, state.memory)
    epoch.report(loss=-found(state.angles)["cut"])
program.finish(state.angles, found(state.angles))
