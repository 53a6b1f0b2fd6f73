"""Training inputs for a task without data: written by a model, spread over topics and difficulty, split, and kept where
groups of rollouts differ.
"""

from calipers.scenarios.keeping import Kept, Split, keep, split
from calipers.scenarios.making import Cell, Grid, Made, Options, Scenario, write_scenarios

__all__ = ["Cell", "Grid", "Kept", "Made", "Options", "Scenario", "Split", "keep", "split", "write_scenarios"]
