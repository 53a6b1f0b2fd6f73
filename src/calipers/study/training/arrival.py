"""The order in which rollouts arrive, and judges that are shown them in that order.

calipers shows candidates in an order drawn from their content. An engine that judges rollouts as they finish, and shows
them so, does not: this module is that other engine, for comparison. A study's control, not an option of ``Judge``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.config.settings import Settings
from calipers.interfaces import Planner
from calipers.judging.judge import Judge
from calipers.judging.loop import Strategies
from calipers.planners.first_asks import shuffled_candidates
from calipers.types import Ask, PlanState

_FIRST_CAUSES = ("first", "order", "sample", "unresolved")
"""The causes of asks that show the whole group in an order that a planner drew from its content."""


def arrival_places(
    lengths: NDArray[Any],
    size: int,
    generator: np.random.Generator,
    *,
    jitter: float | None,
    correlation: float | None,
) -> NDArray[np.int64]:
    """Return an order of arrival: the rows of a batch, group by group, as they arrive; (rows,).

    ``lengths`` are those of the rollouts in groups of ``size`` neighbours. Rollouts finish in order of their length
    plus N(0, ``jitter``²); or in an order whose correlation to length is about ``correlation``, in each group, however
    different its lengths are; or, without either, at random.
    """
    own = lengths.reshape(-1, size).astype(float)
    noise = generator.standard_normal(own.shape)
    if jitter is not None:
        times = own + jitter * noise
    elif correlation is not None:
        spread = own.std(axis=1, keepdims=True)
        standard = (own - own.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
        times = correlation * standard + np.sqrt(1 - correlation**2) * noise
    else:
        times = noise
    # Rollouts that finish together, such as equal lengths without jitter, arrive at random, not by index.
    ties = generator.random(own.shape)
    order = np.lexsort((ties, times), axis=1)
    places: NDArray[np.int64] = (order + np.arange(len(own))[:, None] * size).ravel()
    return places


@dataclass(frozen=True, slots=True)
class AsArrived:
    """A planner that shows candidates in the order of their arrival where ``inner`` shows an order drawn from content.

    Several orders are those of calipers with another first one: the reverse, then rotations and their reverses. A
    candidate that several identical rollouts share arrived with the first of them. Follow-up questions stay as they
    are.
    """

    inner: Planner

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """Plan the inner planner's questions, with the candidates as they arrived."""
        asks = self.inner.next_asks(state)
        arrived = sorted(range(len(state.view.candidates)), key=lambda item: state.view.candidates[item].members)
        instead = dict(zip(shuffled_candidates(state), arrived, strict=True))
        return [_shown_as(ask, instead) if _shows_all(ask, len(arrived)) else ask for ask in asks]


def _shows_all(ask: Ask, count: int) -> bool:
    return ask.cause in _FIRST_CAUSES and len(ask.order) == count and ask.parent is None


def _shown_as(ask: Ask, instead: dict[int, int]) -> Ask:
    return replace(ask, order=tuple(instead[item] for item in ask.order))


class ArrivalJudge(Judge):
    """A Judge that shows candidates as they arrived: in the order of the group's trajectories."""

    def _build_strategies(self, settings: Settings) -> Strategies:
        """Return the strategies of a Judge, with the order of arrival in place of the order drawn from content."""
        built = super()._build_strategies(settings)
        return replace(built, planner=AsArrived(built.planner))
