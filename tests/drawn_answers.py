"""Answers drawn from a judge whose character is known, as records, without any text: for tests of what is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from calipers.study.profiles.answers import Numbers

from calipers.calibration.arrays import Array
from calipers.calibration.records import Key, Record
from calipers.calibration.series import Frame
from calipers.types import Trajectory, TrajectoryGroup


@dataclass(frozen=True)
class Drawn:
    """A judge: score = 0.5 + gain (quality - 0.5) + candidate's error + slope (u - 0.5) + noise, rounded to steps."""

    groups: int = 150
    size: int = 6
    gain: float = 0.4
    candidate: float = 0.1
    noise: float = 0.05
    slope: float = 0.0
    orders: int = 1
    repeats: int = 3
    steps: int = 100
    listwise: bool = False
    binary: bool = False
    failures: float = 0.0
    verdict: Callable[[Array], Array] | None = None

    def records(self, seed: int) -> tuple[list[Record], Frame]:
        draw = np.random.default_rng(seed)
        shape = (self.groups, self.size)
        quality = (draw.random(shape) < 0.5).astype(float) if self.binary else draw.random(shape)
        stable = 0.5 + self.gain * (quality - 0.5) + draw.normal(0, self.candidate, shape)
        groups, records = [], []
        for row in range(self.groups):
            names = [f"{place}" for place in range(self.size)]
            golds = zip(names, quality[row], strict=True)
            members = tuple(Trajectory(name, (), gold=float(gold)) for name, gold in golds)
            groups.append(TrajectoryGroup(f"g{row}", members))
            for number in range(self.orders):
                order = draw.permutation(self.size) if self.listwise else np.arange(self.size)
                samples = range(number * self.repeats, (number + 1) * self.repeats)
                records += [self._record(row, order, stable[row], sample, draw) for sample in samples]
        return records, Frame.of(groups)

    def _record(self, row: int, order: Numbers, stable: Array, sample: int, draw: np.random.Generator) -> Record:
        place = np.empty(self.size)
        place[order] = np.arange(self.size) / max(self.size - 1, 1)
        score = stable + self.slope * (place - 0.5) * self.listwise + draw.normal(0, self.noise, self.size)
        score = np.clip(np.rint(score * self.steps) / self.steps, 0, 1)
        if self.verdict is not None:
            score = self.verdict(score)
        failed = draw.random(self.size) < self.failures
        scores = {f"{item}": float(score[item]) for item in range(self.size) if not failed[item]}
        key = Key("drawn", "listwise" if self.listwise else "pointwise", None, None, None)
        shown = tuple(f"{item}" for item in order)
        return Record(f"g{row}", key, shown, sample, scores=scores or None, scale=(0.0, 1.0))
