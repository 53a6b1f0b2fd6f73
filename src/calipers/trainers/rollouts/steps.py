"""What a group records of the trainer's step and of the policy's versions. No judge is shown it.

Not responsible for drawing them (``report``).
"""

from __future__ import annotations

import operator
from typing import Any, Final

from calipers.types.versions import version_fields

HELD_OUT: Final = "held_out"
"""The ``split`` of a group that is judged for evaluation and not trained on."""


def step_fields(step: Any, *, training: bool | None = None) -> dict[str, Any]:
    """Return the fields of a group that say when a trainer had it judged; none if the step is not known.

    ``step`` is how often the policy was updated before, from 0; ``split`` marks evaluation (``training`` is False).
    """
    try:
        number = operator.index(step)
    except TypeError:
        return {}
    if isinstance(step, bool) or number < 0:
        return {}
    return {"step": number} | ({"split": HELD_OUT} if training is False else {})


def version_metadata(*versions: Any) -> dict[str, Any]:
    """Return the field of a rollout that says which versions of the policy wrote its parts, in order.

    Empty if any of them is unknown.
    """
    found = version_fields(*versions)
    return {"metadata": found} if found else {}


def updates_before(verl_step: int, *, validate: bool) -> int:
    """Return how often the policy was updated before verl rolled a prompt out: verl counts its steps from 1."""
    return verl_step if validate else max(0, verl_step - 1)
