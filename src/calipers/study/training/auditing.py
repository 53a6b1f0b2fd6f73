"""The watch of a run of ``calipers study train``: its audit judge, the truth of its task, and its stop rules.

Both engines use it through the Rewarder. Not responsible for what is measured (``watching``).
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any, Final

from calipers.study.training.judges import judge_for, truth_for
from calipers.study.training.run_folder import RunFolder
from calipers.study.training.settings import Audit, TrainingStudy
from calipers.study.watching.rules import BrokenRule, StopRules
from calipers.study.watching.watch import Watch
from calipers.types import Trajectory

FOLDER: Final = "watched"
"""The folder of the watch in that of a run: ``calipers study figures`` draws it."""

AUDITED: Final = ("audit", "audit_gap", "audit_fidelity", "truth_gap", "truth_fidelity")
"""Figures of a watched run's step, beside those of every run: None for a step that is not audited."""


class Auditing:
    """Watches a run of ``study`` with ``seed``; everything that it measures is kept in ``folder``."""

    def __init__(self, study: TrainingStudy, seed: int, folder: RunFolder) -> None:
        self._right: Mapping[str, bool] = {}
        self._truth, judge, settings = None, None, study.audit or Audit()
        if study.auditor is not None:
            self._truth = truth_for(study.auditor.judge)
            judge = judge_for(study.auditor, seed, self._truth)
        self.watch = Watch(
            folder.path / FOLDER,
            audit=judge,
            truth=self._is_right,
            every=settings.every,
            sample=settings.sample,
            rules=study.stop or StopRules(),
            stop=True,
            title=study.title,
            seed=seed,
        )

    @property
    def stopped(self) -> BrokenRule | None:
        """The broken rule that ends the run; None while it may go on."""
        return self.watch.stopped

    def look_at(self, right: Mapping[str, bool]) -> None:
        """Set which rows of the batch are right, by id, for the audit."""
        self._right = right
        if self._truth is not None:
            self._truth.look_at(right)

    def step_done(self, step: int) -> None:
        """Measure the groups of a training step, which were judged just now."""
        self.watch.step_done(step)

    def figures(self, step: int) -> dict[str, Any]:
        """Return what was measured of a training step, under the names in AUDITED: means over its groups."""
        groups = [group for group in self.watch.groups if group.step == step]
        known = {name: [value for one in groups if (value := getattr(one, name)) is not None] for name in AUDITED}
        return {name: fmean(values) if values else None for name, values in known.items()}

    def close(self) -> None:
        """Close the audit judge."""
        self.watch.close()

    def _is_right(self, row: Trajectory) -> bool:
        return self._right[row.id]
