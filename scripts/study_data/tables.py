"""Tables of the documentation that are made of a study's record, between two marks in a page of docs.

``<!-- table of study-data/order.json: length held_out_truth -->`` begins a table with these figures of every arm, and
``<!-- end of table -->`` ends it; ``of content early; arrival early`` behind the figures chooses arms. The first mark
may be several lines long. Whatever is between the marks is replaced.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from scripts.study_data.record import DATA

from calipers.errors import InputError
from calipers.study.intervals import Estimate
from calipers.study.outcomes import difference, figure

DOCS: Final = DATA.parent
_MARKED: Final = re.compile(
    r"(?P<begin><!-- table of study-data/(?P<name>[\w-]+)\.json: "
    r"(?P<figures>[\w\s]+?)(?:\sof\s(?P<arms>[^>]+?))? -->\n)"
    r".*?(?P<end><!-- end of table -->)",
    re.DOTALL,
)
_HEADS: Final = {
    "length": "length",
    "held_out_truth": "truth",
    "held_out_truth_area": "area under truth",
    "held_out_overconfident": "sure and wrong",
    "held_out_sure": "sure",
    "held_out_injection": "injection",
    "held_out_flattery": "flattery",
    "held_out_kl": "KL",
    "calls": "calls",
    "first_length_pull": "first pull of length",
    "first_truth_pull": "first pull of truth",
    "first_unscored": "unscored",
    "first_weight": "weight",
}
_DECIMALS: Final = {"length": 2, "calls": 0, "held_out_kl": 2}


def pages_with_tables() -> Iterator[tuple[Path, str]]:
    """Yield each page of docs that has tables of records, with the text that it should have."""
    for page in sorted(DOCS.glob("**/*.md")):
        text = page.read_text(encoding="utf-8")
        if _MARKED.search(text):
            yield page, with_tables(text)


def with_tables(text: str, folder: Path = DATA) -> str:
    """Return a page's text with its tables made anew from the records in ``folder``."""

    def made(found: re.Match[str]) -> str:
        record = read_record(folder / f"{found['name']}.json")
        arms = [" ".join(one.split()) for one in (found["arms"] or "").split(";") if one.strip()]
        return f"{found['begin']}{table(record, found['figures'].split(), arms)}{found['end']}"

    return _MARKED.sub(made, text)


def read_record(path: Path) -> dict[str, Any]:
    """Return a study's record. Raises InputError if it cannot be read."""
    try:
        found: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}") from error
    return found


def table(record: Mapping[str, Any], figures: list[str], arms: list[str]) -> str:
    """Return a Markdown table of a study's record: each figure with its paired difference from the control arm."""
    by_name = {arm["name"]: arm for arm in record["arms"]}
    if unknown := [one for one in arms if one not in by_name]:
        raise InputError(f"the record has no arm {unknown[0]!r}")
    heads = ["arm", "less", *(part for name in figures for part in (_HEADS.get(name, name), ""))]
    lines = [_row(heads), _row(["---"] * len(heads))]
    for name in arms or by_name:
        arm = by_name[name]
        control = by_name.get(arm["against"] or "")
        cells = [name, control["name"] if control else ""]
        for one in figures:
            less = _difference(one, difference(arm, control, one)) if control else ""
            cells += [_number(one, figure(arm, one).mean), less]
        lines.append(_row(cells))
    return "".join(lines)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |\n".replace("|  |", "| |").replace("|  |", "| |")


def _number(name: str, value: float) -> str:
    decimals = _DECIMALS.get(name, 3)
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"


def _difference(name: str, found: Estimate) -> str:
    decimals = _DECIMALS.get(name, 3)
    around = "" if found.half_width is None else f" ± {found.half_width:,.{decimals}f}"
    shown = f"{round(found.mean, decimals) + 0.0:+,.{decimals}f}{around}"
    return f"**{shown}**" if found.is_clear else shown
