"""Runs and studies for tests of reports: a ledger with steps, a watched run, the folder of a training study."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calipers.study.training.one_run import Run
from calipers.study.training.run_folder import EVALUATIONS, STEPS
from calipers.study.training.summary import CURVES, HELD_OUT_CURVES

import calipers
from calipers.monitoring.monitor import Monitor
from calipers.study.training.results import write_study
from calipers.study.training.study_file import read_study
from calipers.study.watching import StopRules, Watch
from calipers.testing import Noise, PositionBias, SimulatedJudge
from calipers.types import Trajectory, TrajectoryGroup

STUDY = """\
title = "Two judges"
seeds = 3
steps = 4
window = 2

[evaluation]
every = 2
prompts = 10

[judges.fair]
[judges.early]
vices = [{ kind = "PositionBias", strength = 0.125 }]

[[arms]]
name = "fair"
judge = "fair"
control = "true"

[[arms]]
name = "early, arrival"
judge = "early"
against = "fair"
"""


def step_groups(step: int, *, prompts: int = 4, with_step: bool = True) -> Iterator[TrajectoryGroup]:
    """The groups of a step of a policy that flatters more and more; the second response of each is right."""
    for prompt in range(prompts):
        names = [f"{step}-{prompt}-{number}" for number in range(4)]
        yield TrajectoryGroup(
            f"step {step} prompt {prompt}",
            tuple(
                Trajectory(
                    name, ({"role": "assistant", "content": f"Answer {name}{' fine' * step}"},), gold=number == 1
                )
                for number, name in enumerate(names)
            ),
            extra={"step": step} if with_step else {},
        )


@dataclass
class Trained:
    """What a run of some steps left: its ledger, its watched folder, and what a monitor saw at each step."""

    ledger: Path
    watched: Path
    metrics: list[dict[str, float]] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)


async def trained(folder: Path, *, steps: int, with_step: bool = True, prompts: int = 4) -> Trained:
    """Judge the groups of some steps, as a trainer does, with a watch and a monitor."""

    def opinion(_: object, name: str) -> float:
        return 0.8 if name.endswith("-1") else 0.3

    found = Trained(folder / "runs.db", folder / "watched")
    monitor = Monitor(quiet=True, on_alarm=lambda alarm, metrics: found.alarms.append(alarm.message(metrics)))
    watch = Watch(
        str(found.watched),
        audit=SimulatedJudge(opinion, seed=1),
        truth=lambda one: one.id.endswith("-1"),
        every=2,
        rules=StopRules(length=1.2, window=1),
        title="A watched run",
    )
    judge = SimulatedJudge(opinion, Noise(0.1), PositionBias(0.6))
    async with calipers.Judge(
        judge, orders=2, ledger=str(found.ledger), records={"watchers": [watch, monitor]}
    ) as scorer:
        watch.begin()
        for step in range(steps):
            groups = step_groups(step, with_step=with_step, prompts=prompts)
            async for _ in scorer.score_groups(groups, ordered=True):
                pass
            found.metrics.append(monitor.batch())
            watch.add_log(step, {"kl": step / 100})
            watch.step_done(step)
    return found


def training_folder(
    folder: Path, *, finished: Sequence[tuple[str, int]], failed: Sequence[tuple[str, int]] = ()
) -> Path:
    """The folder of a training study of the arms "fair" and "early, arrival", with these runs (arm, seed)."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    study, text = read_study(str(folder / "study.toml"))
    write_study(study, text, folder)
    for arm in study.arms:
        for seed in range(study.seeds):
            if (arm.name, seed) in (*finished, *failed):
                _make(Run(seed, arm), folder, early=arm.name != "fair", fails=(arm.name, seed) in failed)
    return folder


def _make(run: Run, folder: Path, *, early: bool, fails: bool) -> None:
    own = run.folder(folder)
    own.path.mkdir(parents=True)
    extra = ("length_spread", "missing")
    for step in range(4):
        row: dict[str, Any] = dict.fromkeys((*CURVES, *extra), 0.5)
        length = 9.0 - early * step + run.seed / 10
        own.add(STEPS, row | {"step": step, "length": length, "groups": 3 * step, "calls": 3 * step})
    for step in (0, 2, 4):
        kl = step / 10 * (1 + early)
        row = dict.fromkeys(HELD_OUT_CURVES, 0.5) | {"truth": 0.5 + step / 20 + run.seed / 100, "kl": kl}
        own.add(EVALUATIONS, row | {"step": step, "groups": 3 * step, "calls": 3 * step})
    if fails:
        own.fail("Traceback (most recent call last):\nOSError: the disk is full\n")
    else:
        own.finish({"seconds": 1.0, "judging_seconds": 0.5, "steps": 4})


def simulation_file(path: Path, *, steps: int = 3) -> Path:
    """A result file of a simulation with two arms and two runs."""
    points = list(range(steps))
    arms = [
        {
            "name": name,
            "against": against,
            "settings": {},
            "curves": {
                "step": points,
                "truth": [[0.5 + step / 10 + run / 100 for step in points] for run in range(2)],
                "kl": [[step / 10 for step in points]] * 2,
                "reward": [[*[0.5] * (steps - 1), None]] * 2,
            },
            "figures": {"truth": {"mean": 0.7, "half_width": 0.1, "detectable": 0.2, "n": 2}},
            "differences": {"truth": {"mean": 0.1, "half_width": 0.05, "detectable": 0.2, "n": 2}} if against else {},
        }
        for name, against in (("plain", None), ("biased", "plain"))
    ]
    found = {"format": "calipers-simulation/1", "calipers": "0.2.0", "title": "Simulated", "steps": steps, "arms": arms}
    path.write_text(json.dumps(found), encoding="utf-8")
    return path
