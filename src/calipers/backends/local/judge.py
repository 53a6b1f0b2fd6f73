"""The local judge: a Backend that scores a group by a model that was trained on another judge's scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from calipers.backends.embedded import FeatureJudge, Opinion
from calipers.backends.local.features import FEATURES, MeasuredGroup, measure_group
from calipers.backends.local.model import Model, read_model
from calipers.errors import PermanentError
from calipers.types import RenderedGroup

_NAMED: Final = 3
_NEGLIGIBLE: Final = 0.05
_WARNING: Final = (
    "scored by the local judge {name}, trained to agree with {teachers}: it ignores the rubric, shares its teacher's "
    "mistakes, and is easier to game; read its card.md"
)


class Local(FeatureJudge):
    """A Backend that scores a group by the local judge in a folder.

    A group unlike those that the model was trained on is refused, so that its candidates are abstained. ``model`` holds
    a digest of the folder, so that a ledger never reuses another model's answers. Raises ConfigError for a folder
    without a sound model.
    """

    endpoint = "local"

    def __init__(self, folder: str | Path) -> None:
        super().__init__()
        self._model, digest = read_model(folder)
        self.stderr = self._model.stderr
        self.model = f"{self._model.name}@{digest[:12]}"
        teachers, more = self._model.teachers, len(self._model.teachers) - 3
        shown = ", ".join(teachers[:3]) + (f" and {more} more" if more > 0 else "")
        self.warnings = (_WARNING.format(name=self._model.name, teachers=shown),)

    def judge_group(self, view: RenderedGroup) -> Sequence[Opinion]:
        """Return the local judge's score and explanation of each candidate.

        Raises PermanentError for a group outside the model's domain.
        """
        group = measure_group(view)
        if (outside := self._model.domain.why_outside(group)) is not None:
            raise PermanentError("refused", f"outside what the local judge {self._model.name} learned: {outside}")
        scores = [float(one) for one in self._model.scores(group)]
        return list(zip(scores, explanations(self._model, group), strict=True))


def explanations(model: Model, group: MeasuredGroup) -> list[str]:
    """Return for each candidate the features whose weights move the local judge's score most, at most three."""
    parts = group.relative * model.weights
    both = parts[:, : len(FEATURES)] + parts[:, len(FEATURES) :]
    found = []
    for row, places in zip(both, np.argsort(-np.abs(both), axis=1, kind="stable")[:, :_NAMED], strict=True):
        signed = ((i, "+" if row[i] > 0 else "-") for i in places if abs(row[i]) > _NEGLIGIBLE)
        named = [f"{sign} {FEATURES[i].replace('_', ' ')}" for i, sign in signed]
        found.append(", ".join(named) or "little sets it apart from its siblings")
    return found
