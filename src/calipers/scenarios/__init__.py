"""Training inputs for a task without data: written by a model, split, and kept where groups of rollouts differ."""

from calipers.scenarios.files import KINDS, Split, kind_of, split
from calipers.scenarios.making import Scenario, write_scenarios

__all__ = ["KINDS", "Scenario", "Split", "kind_of", "split", "write_scenarios"]
