"""Training inputs for a task without data: written by a model, spread over topics and difficulty, split, and kept where
groups of rollouts differ.

Not responsible for rollouts (``generation``), or for writing files (``cli.scenarios``).
"""

from calipers.scenarios.grid import Cell, Grid, Scenario
from calipers.scenarios.keeping import Kept, keep
from calipers.scenarios.making import Made, Options, write_scenarios
from calipers.scenarios.split import Split, split

__all__ = ["Cell", "Grid", "Kept", "Made", "Options", "Scenario", "Split", "keep", "split", "write_scenarios"]
