"""The names of a study's curves and figures for people, with their units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from calipers.study.curves import Against

POINTS: Final[Mapping[Against, str]] = {
    "step": "GRPO step",
    "kl": "KL from the first policy (nats), mean over runs",
    "groups": "judged groups",
    "calls": "the judge's answers, mean over runs",
}
"""What curves are drawn against."""

_LABELS: Final = {
    "truth": "true quality (0 to 1)",
    "length": "length (tokens)",
    "kl": "KL from the first policy (nats)",
    "reward": "mean reward",
    "characters": "length (characters)",
    "audit": "mean score of the audit judge",
    "audit_gap": "reward less the audit's score",
    "audit_fidelity": "agreement with the audit (Somers' D)",
    "truth_gap": "reward less truth",
    "truth_fidelity": "agreement with truth (Somers' D)",
}
_FIGURES: Final = {
    "truth_area": "true quality, mean over the run",
    "held_out_truth_area": "true quality on held-out prompts, mean over the run",
    "held_out_truth_gain": "gain in true quality on held-out prompts",
    "calls": "the judge's answers",
}
_BEFORE: Final = {"held_out_": "{} on held-out prompts", "first_": "{}, first steps"}


def label_of(name: str) -> str:
    """Return the label of a study's curve, with its unit where it has one."""
    return _LABELS.get(name, name.replace("_", " "))


def figure_label(name: str) -> str:
    """Return the label of a study's figure, such as ``held_out_truth`` or ``first_length_pull``."""
    if name in _FIGURES:
        return _FIGURES[name]
    before = next((one for one in _BEFORE if name.startswith(one)), None)
    return label_of(name) if before is None else _BEFORE[before].format(label_of(name.removeprefix(before)))
