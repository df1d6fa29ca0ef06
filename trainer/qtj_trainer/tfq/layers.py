"""The earlier name of `qtj_simulator.tfq.layers`."""

from qtj_simulator.tfq.layers import *  # noqa: F403  all of its names
