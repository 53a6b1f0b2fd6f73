"""Seeds of everything that a run draws: each from the run's seed, a purpose and a step, so that paired runs agree."""

from __future__ import annotations

from typing import Final

import numpy as np

POLICY: Final = 1
"""The purpose of seeds for a first policy and its pre-training."""
PROMPTS: Final = 2
"""The purpose of seeds for a step's prompts."""
SAMPLING: Final = 3
"""The purpose of seeds for a step's responses."""
ARRIVAL: Final = 4
"""The purpose of seeds for the order in which a step's rollouts arrive."""
EVALUATION: Final = 5
"""The purpose of seeds for held-out prompts and their responses."""
GATE: Final = 6
"""The purpose of seeds for the groups that the validity gate looks at."""
REHEARSAL: Final = 7
"""The purpose of seeds for the groups from which a judge's position bias is learned before a run."""
PANEL: Final = 8
"""The purpose of seeds for the judges of a panel."""


def seed_of(*numbers: int) -> int:
    """Return a seed for a generator of a study, a number below 2^32, from a run's seed, a purpose and a step."""
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def generator_of(*numbers: int) -> np.random.Generator:
    """Return a generator of a study for a run's seed, a purpose and a step."""
    return np.random.default_rng(numbers)
