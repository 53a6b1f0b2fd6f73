"""What a probit model says of two members of one list: how alike their scores are.

Not responsible for the model (``probit``), or for the figures it is compared with.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calipers.calibration.arrays import Array
from calipers.study.profiles.movers import Movers, binned
from calipers.study.profiles.probit import Opinions, Probit

_MOST = 12
"""The number of opinions that stand for all. Pairs of members are weighed by opinion, so more cost time squared."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How often two members of one list have two of the expected ``opinions``.

    ``counts`` is how often each occurs, and ``pairs`` how often two occur together (both ways).
    """

    opinions: Opinions
    counts: Array
    pairs: Array


def opinion_tally(columns: Movers, effects: Array) -> Tally:
    """Return how often two members of a list of a profile's judge have two expected opinions."""
    opinions, number = binned(columns.opinions(effects), columns.loads, _MOST)
    number = number[: len(columns.list_of)]
    held = np.zeros((int(columns.list_of.max(initial=0)) + 1, len(opinions.means)))
    np.add.at(held, (columns.list_of, number), 1.0)
    return Tally(opinions, held.sum(axis=0), held.T @ held - np.diag(held.sum(axis=0)))


def covariance_in_groups(model: Probit, tally: Tally, share: float) -> float:
    """Return the covariance of two members' scores in a profile if a variance ``share`` of opinions is the group's."""
    errors = model.errors.within(group=share, order=model.errors.order, call=model.errors.call)
    within = replace(model, opinions=tally.opinions, errors=errors)
    given = within.given(share, np.maximum(within.total - share, 0.0))
    nodes, parts = within.nodes[1], errors.kinds[2]
    products = np.einsum("bsn,bc,csn->sn", given, tally.pairs, given, optimize=True)
    mean = tally.counts @ (given @ nodes) @ parts / tally.counts.sum()
    return float(parts @ products @ nodes / max(tally.pairs.sum(), 1.0) - mean**2)
