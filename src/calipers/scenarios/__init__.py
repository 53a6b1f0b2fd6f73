"""Training inputs for a task without data: written by a model, spread over topics and difficulty, split, and kept where
groups of rollouts differ.
"""

from calipers.scenarios.alike import Split, split
from calipers.scenarios.grid import Cell, Grid, Scenario
from calipers.scenarios.keeping import Kept, keep
from calipers.scenarios.making import Made, Options, write_scenarios

__all__ = [
    "Cell",
    "Grid",
    "Kept",
    "Made",
    "Options",
    "Scenario",
    "Split",
    "keep",
    "split",
    "write_scenarios",
]
