"""Replies as judges write them, by shape, with what they mean known by construction; shared with the benchmarks.

The tuned shapes were used to make the rules that read stated scales. Those held out were written before any of them and
only counted until the rules stood; the later ones were written after.
"""

from __future__ import annotations

from typing import Literal, get_args

from calipers.replies import extract_scores
from reply_shapes import held_json, held_text, later, tuned_json, tuned_text
from reply_shapes.draw import Case, Shape

HALVES: dict[str, tuple[Shape, ...]] = {
    "tuned": (*tuned_json.shape.all, *tuned_text.shape.all),
    "held out": (*held_json.shape.all, *held_text.shape.all),
    "later": tuple(later.shape.all),
}
Grade = Literal["exact", "rightly abstained", "abstained though stated", "wrong"]
GRADES: tuple[Grade, ...] = get_args(Grade)
NEAR = 1e-6
"""Numbers this close are equal."""


def grade(case: Case) -> tuple[Grade, str]:
    """How one reply was read, and what was read."""
    reading = extract_scores(case.text, case.ids, scale=case.scale, finish_reason="stop")
    found, truth = reading.scores, case.truth
    shown = f"{found} {reading.reason or ''}"
    if any(id_ not in truth or abs(truth[id_] - score) > NEAR for id_, score in found.items()):
        return "wrong", shown
    if not truth:
        return "rightly abstained", shown
    return ("exact" if found.keys() == truth.keys() else "abstained though stated"), shown
