"""The options about criteria that a model writes for each prompt before its answers are scored.

Not responsible for criteria that a user gives (``rubric``), or for how criteria are written (``calipers.criteria``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from calipers.config.option import QUESTION, Group, any_value, choice, whole_number
from calipers.interfaces import Backend

CriteriaMode: TypeAlias = Literal["off", "auto"]
WithoutCriteria: TypeAlias = Literal["judge", "abstain"]


@dataclass(frozen=True, repr=False)
class Criteria(Group):
    """Whether a model writes criteria for each prompt, and what happens to a group that has none."""

    alone: ClassVar[str] = "mode"
    mode: CriteriaMode = choice(
        "off",
        CriteriaMode,
        "With auto, a model writes criteria for each prompt before any answer is judged, once for all its groups. For "
        "groups without a rubric of their own.",
        key="criteria",
        section=QUESTION,
        recorded=True,
        link="rubrics.md#criteria-for-each-prompt",
    )
    writer: str | Backend | None = any_value(
        None,
        "With --criteria: the model that writes them.",
        key="criteria_writer",
        section=QUESTION,
        metavar="MODEL",
        unset="the (first) judge",
        link="rubrics.md#criteria-for-each-prompt",
    )
    most: int = whole_number(
        7,
        "With --criteria: the most criteria for a prompt.",
        low=1,
        key="criteria_most",
        section=QUESTION,
        recorded=True,
        link="rubrics.md#criteria-for-each-prompt",
    )
    missing: WithoutCriteria = choice(
        "judge",
        WithoutCriteria,
        "With --criteria: whether a group whose criteria cannot be had is judged without them, or abstains. A "
        "checklist without criteria abstains.",
        key="criteria_missing",
        section=QUESTION,
        recorded=True,
        link="rubrics.md#criteria-for-each-prompt",
    )
    reference: str | None = any_value(
        None,
        "With --criteria: the key of groups or trajectories that holds a reference answer for the writer.",
        key="criteria_reference",
        section=QUESTION,
        metavar="KEY",
        unset="reference, reference_answer or ground_truth",
        recorded=True,
        link="rubrics.md#criteria-for-each-prompt",
    )
