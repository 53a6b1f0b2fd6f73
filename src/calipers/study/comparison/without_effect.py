"""Settings of a comparison of judges that change nothing, because another setting turns off what they are about.

Not responsible for settings that cannot work (``problems``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from calipers.study.comparison.judges import MOST_ORDERS, protocol_of
from calipers.study.comparison.settings import Comparison, JudgeTable, cells_of
from calipers.study.toml_lines import Place


def without_effect(settings: Comparison, written: Mapping[str, Any]) -> Iterator[tuple[str, Place, str]]:
    """Yield the key, the place and the reason of each setting that changes nothing in a comparison.

    ``written`` is what its file holds: a default needs no reason.
    """
    if settings.wrong_below is not None and "confident_wrong" not in settings.rewrites:
        yield "wrong_below", ("wrong_below",), "confident_wrong is not among rewrites"
    if settings.rewritten_samples > 1 and not settings.rewrites and not settings.own_rewrites:
        yield "rewritten_samples", ("rewritten_samples",), "there are no rewrites"
    most = max(
        (MOST_ORDERS.get(protocol_of(cell, settings), settings.orders) for cell in cells_of(settings)), default=1
    )
    if "orders" in written and settings.orders > most:
        yield "orders", ("orders",), f"asked so, a group has {most} at most"
    used = {cell.wording for cell in cells_of(settings)}
    for name in settings.wordings:
        if name not in used:
            yield f"[wordings.{name}]", ("wordings", name), "no judge is asked with it"
    for name, judge in settings.judges.items():
        yield from ((key, ("judges", name, key), why) for key, why in _in_judge(judge))


def _in_judge(judge: JudgeTable) -> Iterator[tuple[str, str]]:
    if judge.model is None and judge.temperatures:
        yield "temperatures", "a simulated judge answers alike at all of them"
