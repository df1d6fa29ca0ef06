"""Your own training loop in PyTorch, with any number of workers: a circuit learns which points are in a disc.

Each worker takes its share of each batch, and `torch.distributed` sums the gradients. The program needs PyTorch and
also runs without a job: python examples/torch_loop.py
"""

import argparse
import os
from itertools import pairwise

from qtj_trainer import Program
from qtj_trainer.errors import TryAgainError

EPOCHS = 10
QUBITS, LAYERS, BATCH, RADIUS = 3, 3, 32, 1.28
arguments = argparse.ArgumentParser()
arguments.add_argument("--seed", type=int, default=0, help="of everything that is drawn")
seed = arguments.parse_args().seed
program = Program(epochs=EPOCHS)  # returns when all workers are there

import cirq
import sympy
import torch
import torch.distributed as dist

from qtj_simulator.torch import TorchLayer

rank, workers = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def circuit() -> TorchLayer:
    """Returns the layer: each layer of its circuit uses the point, and entangles all qubits by learned angles."""
    qubits, point = cirq.LineQubit.range(QUBITS), sympy.symbols("x y")
    angles = sympy.symbols(f"a:{2 * QUBITS * LAYERS}")
    rest, made = iter(angles), cirq.Circuit()
    for _ in range(LAYERS):
        made += [gate(value)(qubit) for qubit in qubits for gate, value in zip((cirq.rx, cirq.ry), point, strict=True)]
        made += [gate(next(rest))(qubit) for qubit in qubits for gate in (cirq.ry, cirq.rz)]
        made += [cirq.CZ(one, other) for one, other in pairwise(qubits)]
    return TorchLayer(made, [cirq.Z(qubit) for qubit in qubits], inputs=point, weights=angles)


def step(batch: torch.Tensor) -> float:
    """Takes a step of the optimizer with the gradient of the whole batch, and returns its loss."""
    mine = batch[rank::workers]
    optimizer.zero_grad()
    loss = (
        torch.nn.functional.binary_cross_entropy_with_logits(model(points[mine]), inside[mine], reduction="sum") / BATCH
    )
    loss.backward()
    summed = torch.cat([*(each.grad.flatten() for each in model.parameters()), loss.detach()[None]])
    if workers > 1:
        try:
            dist.all_reduce(summed)
        except RuntimeError as problem:
            raise TryAgainError("another worker has gone: this one starts again with it") from problem
    sizes = [each.numel() for each in model.parameters()]
    for each, gradient in zip(model.parameters(), summed[:-1].split(sizes), strict=True):
        each.grad = gradient.view_as(each)
    optimizer.step()
    return float(summed[-1])


def accuracy() -> float:
    """Returns the share of held-out points that are classified right."""
    with torch.no_grad():
        return float(((model(points[512:]) > 0) == (inside[512:] > 0)).float().mean())


torch.manual_seed(seed)  # the same in all workers, so that they begin with the same angles and the same data
points = 3.2 * torch.rand(768, 2) - 1.6
inside = (points.norm(dim=1, keepdim=True) < RADIUS).float()  # half of the square
model = torch.nn.Sequential(circuit(), torch.nn.Linear(QUBITS, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

if program.inferring:  # the Job of spec.inference: evaluate exactly the weights that are stored
    program.load(model)
    program.report({"accuracy": accuracy()})

if workers > 1:
    dist.init_process_group("gloo")  # by MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, which the job sets
program.state(model=model, optimizer=optimizer)
for epoch in program.epochs():
    order = torch.randperm(512, generator=torch.Generator().manual_seed(epoch.number))
    for batch in epoch.steps(order.split(BATCH)):
        epoch.step(loss=step(batch))
    epoch.report(val_accuracy=accuracy())
program.finish(model, {"accuracy": accuracy()})
