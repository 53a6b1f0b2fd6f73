"""The features of answers that a profile measures preferences for, by group and member.

Texts are those that a judge would read, so that a feature means the same when it is measured and when it is simulated.
Not responsible for the definitions (``calipers.testing.features``, ``calipers.guard``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, get_args

import numpy as np

from calipers.calibration.arrays import Array
from calipers.calibration.series import Frame
from calipers.guard.injection import attacks_in
from calipers.judging.families import families_of_model
from calipers.render import render
from calipers.study.profiles.profile import Feature
from calipers.testing.features import TEXT_FEATURES, FeatureOf, text_feature
from calipers.types import RenderedGroup, Trajectory

FEATURES: Final[tuple[Feature, ...]] = get_args(Feature)
"""Every feature that a profile may hold a preference for."""

_AUTHOR_KEYS: Final = ("model", "author", "policy", "generator")


def measure_features(frame: Frame, judge: str) -> Mapping[str, Array]:
    """Return each member's features by name for a profile of ``judge``, (groups, members); NaN without text.

    Beside the features of ``Feature`` there is ``injection``: 1 for a member that addresses the judge, else 0.
    """
    found = {name: np.full(frame.gold.shape, np.nan) for name in (*TEXT_FEATURES, "injection")}
    for row, group in enumerate(frame.groups):
        if not any(one.messages for one in group.trajectories):
            continue
        view = render(group)
        for name, values in _of_view(view, len(group.context)).items():
            for candidate, value in zip(view.candidates, values, strict=True):
                written = bool(group.trajectories[candidate.members[0]].messages)
                columns = [frame.columns[row][view.ids[place]] for place in candidate.members]
                found[name][row, columns] = value if written else np.nan
    return {**found, "own_family": _own_family(frame, judge)}


def _of_view(view: RenderedGroup, context: int) -> dict[str, Sequence[float]]:
    by_text: dict[str, Sequence[float]] = {name: text_feature(name)(view) for name in TEXT_FEATURES}
    return {**by_text, "injection": injection(view, context=context)}


def injection(view: RenderedGroup, *, context: int = 0) -> list[float]:
    """Return, for a profile, 1 for each candidate in which calipers finds a prompt injection, else 0.

    ``context`` is the number of messages with the task, as for ``attacks_in``.
    """
    found = attacks_in(view, context=context)
    told = {item for item, attacks in found.items() if any(one.kind != "master_key" for one in attacks)}
    return [float(item in told) for item in range(len(view.candidates))]


def own_family(judge: str) -> FeatureOf:
    """Return the feature for a profile of ``judge``: 1 for a candidate whose author is of the judge's model family."""
    own = families_of_model(judge)

    def feature(view: RenderedGroup) -> list[float]:
        firsts = [one.members[0] if one.members else None for one in view.candidates]
        return [
            0.0
            if first is None
            else _shares(own, _author(view.ids[first], view.metadata[first] if view.metadata else {}))
            for first in firsts
        ]

    return feature


def _own_family(frame: Frame, judge: str) -> Array:
    """Return 1 for members of the judge's family and 0 for others; NaN in groups where no author's family is known."""
    own = families_of_model(judge)
    found = np.full(frame.gold.shape, np.nan)
    for row, group in enumerate(frame.groups):
        authors = [author_of(one) for one in group.trajectories]
        if own and any(map(families_of_model, authors)):
            found[row, : len(authors)] = [_shares(own, one) for one in authors]
    return found


def author_of(trajectory: Trajectory) -> str:
    """Return the model that wrote a trajectory, for a profile.

    It is ``model``, ``author``, ``policy`` or ``generator`` of its metadata, else its id.
    """
    return _author(trajectory.id, trajectory.metadata)


def _author(own_id: str, metadata: Mapping[str, object]) -> str:
    return next((str(metadata[key]) for key in _AUTHOR_KEYS if metadata.get(key)), own_id)


def _shares(own: frozenset[str], author: str) -> float:
    return float(bool(own & families_of_model(author)))
