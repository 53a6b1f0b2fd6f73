"""The judge of a cell: simulated from vices, or any judge by its name, with the cell's options.

Not responsible for vices (``calipers.testing``), or for asking (``asking``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from calipers.errors import ConfigError
from calipers.interfaces import Backend
from calipers.study.comparison.settings import Cell, Comparison, JudgeTable
from calipers.study.training.simulated import vices_from
from calipers.testing import SimulatedJudge
from calipers.testing.quality import gold_quality
from calipers.types import Rubric, TrajectoryGroup
from calipers.types.encoding import finite_number

NOT_IN_A_COMPARISON: Final = {
    "judge": "name the judge under [judges.NAME], as model",
    "ledger": "the folder of the comparison has one",
    "api_key": "set the provider's environment variable: keys are not written to files",
    "rubric": "write a [wordings.NAME] table with rubric or rubric_file",
    "samples": "set samples for the whole comparison",
    "orders": "set orders for the whole comparison",
    "watchers": "it holds objects, which TOML cannot",
    "observer": "it is a function, which TOML cannot hold",
    "parse": "it is a function, which TOML cannot hold",
}
"""Options of Judge that a comparison's TOML may not set, and what to do instead."""
MOST_ORDERS: Final = {"pointwise": 1, "checklist": 1, "pairwise": 2}
"""How many orders a protocol has, where it is not any number: judged alone, or first and second."""


def judge_options(
    cell: Cell, study: Comparison, groups: Sequence[TrajectoryGroup], rubric: str | Rubric | None
) -> dict[str, Any]:
    """Return the options of a comparison's judge by their flat names.

    Those of the study, of the judge and of the wording are merged; the last one counts. Raises ConfigError for options
    that do not fit together, and for a simulated judge of groups without gold. Each alone is checked by ``problems``.
    """
    options = _merged(cell, study)
    if cell.temperature is not None:
        params = options.get("params") or {}
        if "temperature" in params:
            raise ConfigError("options: params sets the temperature, and so does temperatures: leave one out")
        options["params"] = {**params, "temperature": cell.temperature}
    merged = {"protocol": study.protocol, "samples": study.samples, **options}
    merged["orders"] = min(study.orders, MOST_ORDERS.get(merged["protocol"], study.orders))
    return merged | {"judge": _backend(cell.table, groups), "rubric": rubric, "experience": False}


def protocol_of(cell: Cell, study: Comparison) -> str:
    """Return the name of the protocol by which a comparison's judge is asked."""
    return str(_merged(cell, study).get("protocol", study.protocol))


def _merged(cell: Cell, study: Comparison) -> dict[str, Any]:
    wording = study.wordings.get(cell.wording or "")
    options: dict[str, Any] = {}
    for own in (study.options, cell.table.options, wording.options if wording else None):
        options |= own or {}
    return options


def quality_bounds(table: JudgeTable) -> tuple[float, float]:
    """Return what a simulated judge of a comparison thinks the lowest and the highest gold are worth, in [0, 1].

    Raises ConfigError for other values, and where the lowest gold is worth more.
    """
    values = [finite_number(one) for one in table.quality] if isinstance(table.quality, list | tuple) else []
    known = [one for one in values if one is not None and 0 <= one <= 1]
    if len(known) != 2 or len(values) != 2:
        raise ConfigError(f"quality={table.quality!r:.60}: it must be two numbers from 0 to 1")
    if known[0] > known[1]:
        raise ConfigError(
            f"quality={table.quality!r}: the lowest gold comes first; a judge that is wrong has the vice Inverted"
        )
    return known[0], known[1]


def _backend(table: JudgeTable, groups: Sequence[TrajectoryGroup]) -> Backend | str:
    if table.model is not None:
        return table.model
    low, high = quality_bounds(table)
    worth = gold_quality(groups)

    def quality(group_id: str, trajectory_id: str) -> float:
        return low + (high - low) * worth(group_id, trajectory_id)

    return SimulatedJudge(quality, *vices_from(table.vices or ()), model=_simulated_name(table, groups))


def _simulated_name(table: JudgeTable, groups: Sequence[TrajectoryGroup]) -> str:
    """Return the name under which the ledger holds a simulated judge's answers: another for other vices or gold."""
    gold = sorted(f"{group.group_id} {one.id} {one.gold}" for group in groups for one in group.trajectories)
    digest = hashlib.sha256("\n".join([repr(table.vices), repr(table.quality), *gold]).encode()).hexdigest()
    return f"compared-{digest[:12]}"
