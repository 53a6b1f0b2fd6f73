"""Writes a drafted rubric as TOML for a person to edit, with each criterion's figures in a comment above it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from calipers.drafting.measure import Measured
from calipers.drafting.merge import Merged

Entry = tuple[Merged, Measured]


def rubric_toml(kept: Sequence[Entry], dropped: Sequence[Entry], *, title: str) -> str:
    """Return the drafted rubric as TOML: first the criteria, then the dropped criteria in comments, with the reason."""
    parts = [f"# {_one_line(title)}\n# Edit it: weights are a judge's guess, and figures are from few groups.\n"]
    if not any(merged.criterion.points > 0 for merged, _ in kept):
        parts.append('all_negative = "from_one" # no desired criterion is left: the score starts at 1 and falls\n')
    for merged, measured in kept:
        parts.append(f"# {_figures(merged, measured)}\n{_table(merged)}")
    if dropped:
        parts.append("# Dropped:\n")
    for merged, measured in dropped:
        commented = "".join(f"# {line}\n" for line in _table(merged).splitlines())
        parts.append(f"# {measured.fault()} ({_figures(merged, measured)})\n{commented}")
    return "\n".join(parts)


def _table(merged: Merged) -> str:
    criterion = merged.criterion
    return f'[[criteria]]\nid = "{criterion.id}"\ntext = {_string(criterion.text)}\npoints = {criterion.points:g}\n'


def _figures(merged: Merged, measured: Measured) -> str:
    shares = {
        "proposed for": f"{merged.groups} group{'s' * (merged.groups != 1)}",
        "met by": _percent(measured.met),
        "separates": f"{_percent(measured.separates)} of groups",
        "agrees with itself": _percent(measured.agreement),
        "decided": _percent(measured.decided),
    }
    if measured.pairs:
        shares["gold agrees"] = f"{_percent(measured.with_gold)} of {measured.pairs} pairs"
    return "; ".join(f"{name} {share}" for name, share in shares.items())


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.0%}"


def _string(text: str) -> str:
    """Return a TOML basic string: JSON's escapes are valid in TOML, which also requires DEL to be escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
