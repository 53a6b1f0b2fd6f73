"""Settings to strategies: which planner and which aggregator a judge or a panel of them works with.

Pure. Not responsible for protocols and rewards, which are the same however many judges there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from calipers import registry
from calipers.aggregators.panel import Panel
from calipers.aggregators.sole import Sole
from calipers.errors import ConfigError
from calipers.interfaces import Aggregator, Planner
from calipers.planners.opening import Opening
from calipers.planners.panel import Cycle, Everyone, Fallback
from calipers.planners.reask import Reask
from calipers.planners.refit import Refit
from calipers.settings import PanelMode, Settings

_PANELS: Final[Mapping[str, type[Everyone | Cycle | Fallback]]] = {
    "all": Everyone,
    "cycle": Cycle,
    "fallback": Fallback,
}


def planner(settings: Settings) -> Planner:
    """What to ask: the protocol's first asks, of which judge, then what poor answers make necessary."""
    return Refit(Reask(_opening(settings), settings.reasks))


def _opening(settings: Settings) -> Opening:
    first: Opening = registry.load(registry.find_method(settings.protocol).planner)(settings.orders, settings.samples)
    judges = len(settings.judges)
    return first if judges == 1 else _PANELS[settings.panel](first, judges)


def aggregator(settings: Settings) -> Aggregator:
    """What answers come to: one judge's as they are, a panel's each on its own scale."""
    found = registry.load(registry.find_method(settings.protocol).aggregator)
    within: Aggregator = found() if isinstance(found, type) else found
    judges = len(settings.judges)
    if judges == 1:
        return within
    if settings.panel == "fallback":
        return Sole(within)
    weights = settings.weights or (1 / judges,) * judges
    return Panel(weights, within, settings.quorum, scale="mean")


def require_panel(judges: int, *, panel: PanelMode | None, quorum: int, weights: Sequence[float] | None) -> None:
    """Raise ConfigError for settings of a panel that cannot work with this many judges."""
    if panel is not None and panel not in _PANELS:
        raise ConfigError(f"panel={panel!r}: it is one of {', '.join(sorted(_PANELS))}")
    if panel is not None and judges == 1:
        raise ConfigError(f'panel={panel!r} needs several judges, as in judge=["openai/gpt-5-mini", "vllm/qwen3"]')
    most = 1 if panel == "fallback" else judges
    if isinstance(quorum, bool) or not isinstance(quorum, int) or not 1 <= quorum <= most:
        alone = ", for one judge speaks for a group" if panel == "fallback" else ""
        raise ConfigError(f"quorum={quorum!r}: it counts judges, from 1 to {most}{alone}")
    if weights is None:
        return
    if judges == 1 or panel == "fallback":
        raise ConfigError("weights= are for panels in which several judges speak for a group")
    if len(weights) != judges or not all(one >= 0 for one in weights) or not 0 < sum(weights) < float("inf"):
        raise ConfigError(f"weights={list(weights)}: give one for each of the {judges} judges, 0 or more, not all 0")
