"""The earlier name of `qtj_simulator.tfq`, for programs that import it from here."""

from qtj_simulator.tfq import *  # noqa: F403  all of its names
