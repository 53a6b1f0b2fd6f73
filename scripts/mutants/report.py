"""The tables of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from .sample import Mutant

Fate = Literal["killed", "timed out", "survived", "not reached", "equivalent"]


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant, and ``by`` which test (or why it is equivalent)."""

    mutant: Mutant
    fate: Fate
    by: str

    @property
    def alive(self) -> bool:
        return self.fate in ("survived", "not reached")


def markdown(title: str, outcomes: Sequence[Outcome], controls: Sequence[str], left_out: Sequence[str]) -> str:
    """A table by room, and each survivor with its place and change."""
    lines = [f"# {title}", "", "| room | mutants | killed | timed out | survived | equivalent | killed % |"]
    lines.append("|---|---|---|---|---|---|---|")
    rooms = list(dict.fromkeys(one.mutant.room for one in outcomes))
    lines += [_row(room, [one for one in outcomes if one.mutant.room == room]) for room in rooms]
    lines += [_row("all", outcomes), ""]
    lines += [f"A test that fails without any mutant: {test}" for test in controls]
    lines += [f"Test file not used: {name}" for name in left_out]
    alive = [one for one in outcomes if one.alive]
    if alive:
        lines += ["", "## Survivors", ""]
    return "\n".join([*lines, *map(survivor, alive)]) + "\n"


def survivor(one: Outcome) -> str:
    """Where a mutant is and what was changed."""
    where = f"{one.mutant.path}:{one.mutant.line} {one.mutant.place}"
    reached = " (no test reaches it)" if one.fate == "not reached" else ""
    return f"- {where}{reached}\n  - `{_short(one.mutant.before)}`\n  - `{_short(one.mutant.after)}`"


def _short(text: str) -> str:
    return text if len(text) <= 160 else f"{text[:120]} ... {text[-35:]}"


def _row(room: str, outcomes: Sequence[Outcome]) -> str:
    fates = Counter(one.fate for one in outcomes)
    alive = sum(one.alive for one in outcomes)
    judged = len(outcomes) - fates["equivalent"]
    share = f"{100 * (judged - alive) / judged:.1f}" if judged else ""
    killed = f"{fates['killed']} | {fates['timed out']} | {alive} | {fates['equivalent']} | {share}"
    return f"| {room} | {len(outcomes)} | {killed} |"
