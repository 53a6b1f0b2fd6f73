"""Watches a training run: a hidden audit judge, the truth, held-out prompts, and stop rules.

A Watch is a watcher of the judge that makes the rewards, so it works with any trainer that calipers rewards. It never
makes or changes a reward. Training waits while the audit judge is asked. Not responsible for a trainer's callbacks
(``trl``, ``verl``).
"""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, TypeVar

from calipers.config.arguments import require_above_zero, require_callable, require_whole
from calipers.errors import ConfigError
from calipers.study.watching.files import WatchFolder
from calipers.study.watching.measuring import Measuring, Truth
from calipers.study.watching.rows import Split, WatchedGroup
from calipers.study.watching.rules import ALARMS, BrokenRule, StopRules, broken_rules
from calipers.trainers.process.blocking import run_coroutine
from calipers.trainers.process.judges import JudgeLike, build_judge
from calipers.types import GroupResult, TrajectoryGroup

T = TypeVar("T")

_MOST: Final = 16_384
"""The most groups that wait to be measured: bounds memory if nobody says that a step is done."""


class Watch:
    """Watches a run whose judge has it among its watchers: ``Judge(records={"watchers": [watch]})``.

    Every ``every`` steps, ``audit``, a second judge, scores ``sample`` of the step's groups, and ``truth`` is asked
    about all their rollouts. All rows are added to ``folder``; ``calipers study figures FOLDER`` draws them. Without a
    folder they are only in ``groups``. A rule of ``rules`` that is broken is printed to stderr, recorded, and passed to
    ``on_broken``, once; with ``stop`` it ends the run. Which groups are sampled depends on their ids and ``seed``.

    Give the audit the scale of the judge (protocol, ``reward_range``), or their gap means nothing. Raises ConfigError
    for settings that cannot work.
    """

    def __init__(  # noqa: PLR0913 - constructor arguments are the configuration
        self,
        folder: str | Path | None = None,
        *,
        audit: JudgeLike | None = None,
        truth: Truth | None = None,
        every: int = 10,
        sample: int = 8,
        rules: StopRules | None = ALARMS,
        stop: bool = False,
        title: str = "",
        seed: int = 0,
        on_broken: Callable[[BrokenRule], object] | None = None,
    ) -> None:
        require_whole(every=every, sample=sample, seed=seed)
        require_above_zero(every=every, sample=sample)
        require_callable(on_broken=on_broken)
        rules = rules or StopRules()
        if not isinstance(rules, StopRules):
            raise ConfigError(f"rules={rules!r}: it must be StopRules(...)")
        rules.require("rules")
        self.folder = None if folder is None else WatchFolder(Path(folder))
        self.title = title
        self.groups: list[WatchedGroup] = []
        """The rows of all judged groups so far, by step."""
        self.log: list[dict[str, float]] = []
        """The figures that the trainer has logged, each row with its ``step``."""
        self.broken: list[BrokenRule] = []
        """The rules that are broken, in the order in which they were found."""
        self._measuring = Measuring(None if audit is None else build_judge(audit), truth)
        self._every, self._sample, self._seed = every, sample, seed
        self._rules, self._stop, self._on_broken = rules, stop, on_broken
        self._waiting: deque[tuple[TrajectoryGroup, GroupResult]] = deque(maxlen=_MOST)
        self._due = 0
        self._is_unwritable = False

    @property
    def stopped(self) -> BrokenRule | None:
        """The broken rule that ends the watched run; None while it may go on."""
        return self.broken[0] if self._stop and self.broken else None

    def begin(self, step: int = 0, *, again: bool = False) -> None:
        """Begin to watch a run, or go on with it at ``step``.

        Raises ConfigError for a folder with another run, unless ``again`` says that it is this one.
        """
        self.forget()
        if self.folder is not None:
            self.folder.begin(step, title=self.title, again=again)
            self.restore()

    def restore(self) -> None:
        """Read what the folder knows of the watched run so far."""
        if self.folder is None:
            return
        self.groups, self.log, self.broken = self.folder.groups(), self.folder.log(), self.folder.broken()
        trained = [group.step for group in self.groups if group.split == "train"]
        self._due = (max(trained) // self._every + 1) * self._every if trained else 0

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult:
        """Take note of a judged group; a watcher of the judge returns the result unchanged."""
        self._waiting.append((group, result))
        return result

    def forget(self) -> None:
        """Forget the groups that were judged since the last measurement: they are not part of the watched run."""
        self._waiting.clear()

    def measure(self, step: int, split: Split = "train") -> list[WatchedGroup]:
        """Measure the groups that were judged since the last call, and return their rows.

        They are rollouts after ``step`` updates. Groups that are "held_out" are not trained on. Blocks until the audit
        judge has answered.
        """
        waiting = sorted(self._waiting, key=lambda one: one[0].group_id)
        self._waiting.clear()
        due = split == "held_out" or step >= self._due
        if due and split == "train" and waiting:
            self._due = (step // self._every + 1) * self._every
        sampled = self._sampled([group for group, _ in waiting]) if due else set()

        async def measured() -> list[WatchedGroup]:
            asked = (
                self._measuring.measure(group, result, step=step, split=split, due=due, audited=number in sampled)
                for number, (group, result) in enumerate(waiting)
            )
            return await asyncio.gather(*asked)

        return run_coroutine(measured()) if waiting else []

    def add(self, groups: Sequence[WatchedGroup], *, write: bool = True) -> list[BrokenRule]:
        """Add rows to the watched run, and return the rules that are newly broken.

        Without ``write`` neither rows nor rules are written or printed: another process does that.
        """
        self.groups += groups
        if write and self.folder is not None:
            self._try(self.folder.add_groups, groups)
        return self.check(write=write) if groups else []

    def check(self, *, write: bool = True) -> list[BrokenRule]:
        """Return the rules that the watched run has newly broken. ``write`` is that of ``add``."""
        known = {one.rule for one in self.broken}
        new: dict[str, BrokenRule] = {}
        for one in broken_rules(self.groups, self.log, self._rules):
            if one.rule not in known:
                new.setdefault(one.rule, one)
        self.broken += new.values()
        if write:
            self._report(list(new.values()))
        return list(new.values())

    def step_done(self, step: int, split: Split = "train") -> list[BrokenRule]:
        """Measure and add the groups of a step of the watched run, and return the rules that are newly broken.

        For training loops of your own; ``trl`` and ``verl`` have callbacks.
        """
        return self.add(self.measure(step, split))

    def add_log(self, step: int, figures: Mapping[str, float], *, write: bool = True) -> None:
        """Add figures that the watched run's trainer logs at ``step``, such as ``{"kl": 0.02}``."""
        row = {"step": step, **figures}
        self.log.append(row)
        if write and self.folder is not None:
            self._try(self.folder.add_log, row)

    def callback(self) -> Any:
        """Return a TrainerCallback for TRL's trainers that watches the run. Raises ConfigError without transformers."""
        from calipers.study.watching.trl import watch_callback  # noqa: PLC0415 - needs transformers

        return watch_callback(self)

    def close(self) -> None:
        """Close the audit judge."""
        if self._measuring.audit is not None:
            self._measuring.audit.close()

    def _sampled(self, groups: Sequence[TrajectoryGroup]) -> set[int]:
        """Return the places of the groups that the audit judge is asked about."""

        def drawn(place: int) -> bytes:
            return blake2b(f"{self._seed}:{groups[place].group_id}".encode(errors="replace"), digest_size=8).digest()

        return set(sorted(range(len(groups)), key=drawn)[: self._sample])

    def _try(self, write: Callable[[T], object], what: T) -> None:
        """Write to the folder. A full disk must not end the run: it is printed once, and rows stay in memory."""
        try:
            write(what)
        except OSError as error:
            if not self._is_unwritable:
                self._is_unwritable = True
                sys.stderr.write(f"[calipers] the watch cannot write to its folder, and the run goes on: {error}\n")

    def _report(self, broken: Sequence[BrokenRule]) -> None:
        if self.folder is not None:
            self._try(self.folder.add_broken, broken)
        for one in broken:
            then = "the run ends" if self._stop else "the run goes on"
            sys.stderr.write(f"[calipers] stop rule {one.rule} is broken at step {one.step}; {then}: {one.found}\n")
            if self._on_broken is not None:
                self._on_broken(one)
