"""One run in a process of its own: a first policy, or an arm with one seed.

Not responsible for which runs there are, or for what happens when one of them dies (``matrix``).
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import shutil
import signal
import sys
import traceback
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.study.training.auditing import Auditing
from calipers.study.training.judges import judge_for, truth_for
from calipers.study.training.problems import folder_name
from calipers.study.training.rewarding import Rewarder, Tally
from calipers.study.training.run_folder import EVALUATIONS, STEPS, RunFolder
from calipers.study.training.seeds import REHEARSAL, generator_of, seed_of
from calipers.study.training.settings import Arm, TrainingStudy
from calipers.study.training.starts import Starts
from calipers.study.training.task import draw_prompts, features

_LEARNT, _LEDGER = "learnt.db", "ledger.db"


@dataclass(frozen=True, slots=True)
class Run:
    """A run of ``arm`` with ``seed``; without an arm, the pre-training of that seed's first policy."""

    seed: int
    arm: Arm | None = None

    @property
    def name(self) -> str:
        """The run's name for people."""
        return f"{self.arm.name if self.arm else 'first policy'}, seed {self.seed}"

    def folder(self, out: Path) -> RunFolder:
        """Return the run's folder in the study's folder ``out``."""
        place = Path("runs", folder_name(self.arm.name)) if self.arm else Path("starts", "runs")
        return RunFolder(out / place / str(self.seed))


def starts_in(out: Path, study: TrainingStudy) -> Starts:
    """Return the first policies of runs in the study's folder ``out``."""
    return Starts(out / "starts", study.policy, study.pretraining)


def settings_of_run(study: TrainingStudy, run: Run) -> dict[str, Any]:
    """Return all settings that decide a run's result, as plain data."""
    found = {
        "seed": run.seed,
        "steps": study.steps,
        "policy": asdict(study.policy),
        "pretraining": asdict(study.pretraining),
        "evaluation": asdict(study.evaluation),
    }
    if run.arm is None:
        return found
    arm = run.arm
    how = {key: value for key, value in asdict(arm.table).items() if key in _DECIDING}
    trl = {"trl": dict(study.trl or {})} if arm.engine == "trl" else {}
    watched = {name: getattr(study, name) for name in ("audit", "auditor", "stop")}
    found |= {name: asdict(table) for name, table in watched.items() if table is not None}
    members = {"members": [asdict(one) for one in arm.members]} if arm.members else {}
    own = {"judge": asdict(arm.judge), **members, "options": dict(arm.options), "training": asdict(arm.training)}
    return {**found, **own, **how, "engine": arm.engine, **trl}


_DECIDING = ("order", "jitter", "correlation", "missing", "weights", "learn")


def run_in_process(study: TrainingStudy, run: Run, out: Path) -> None:
    """Make ``run`` in this process, which is made for it; exit code 1 if it fails, with the reason in its folder."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process ends this one, between two steps or within one
    folder = run.folder(out)
    try:
        folder.begin(settings_of_run(study, run))
        _log_to(folder.path / "log.txt")
        make(study, run, out)
    except (CalipersError, OSError) as error:
        _give_up(folder, str(error))
    except Exception:  # noqa: BLE001 - a crash of one run is reported, and leaves the others
        _give_up(folder, traceback.format_exc())


def make(study: TrainingStudy, run: Run, out: Path) -> None:
    """Make ``run``, or go on with it: the first policy of its seed, or the training of its arm."""
    import torch  # noqa: PLC0415 - heavy, and an extra

    torch.set_num_threads(1)  # the same digits on any number of cores; runs are what is made at the same time
    starts, folder = starts_in(out, study), run.folder(out)
    if run.arm is None:
        starts.make(run.seed)
        folder.finish({})
        return
    arm, tally = run.arm, Tally()
    truth = truth_for(arm.judge)
    ledger = _learnt(study, run, starts, folder) if arm.table.learn else None
    auditing = Auditing(study, run.seed, folder) if study.audit is not None or study.stop is not None else None
    judge = judge_for(arm, run.seed, truth, tally, ledger, watch=auditing.watch if auditing else None)
    try:
        rewarder = Rewarder(judge, arm, truth, tally, run.seed, auditing)
        seconds = _train(study, run, starts, rewarder, folder)
    finally:
        judge.close()
        if auditing is not None:
            auditing.close()
    broken = asdict(auditing.stopped) if auditing is not None and auditing.stopped is not None else None
    judging = {f"judging_{key}": value for key, value in tally.counts().items()}
    counts = {"steps": len(folder.rows(STEPS)), "evaluations": len(folder.rows(EVALUATIONS))}
    folder.finish({"seconds": seconds, **counts, "stopped": broken, **judging})


def _train(study: TrainingStudy, run: Run, starts: Starts, rewarder: Rewarder, folder: RunFolder) -> float:
    assert run.arm is not None  # noqa: S101 - the caller has an arm
    if run.arm.engine == "trl":
        from calipers.study.training.trl_run import TrlRun  # noqa: PLC0415 - heavy

        kind: Any = TrlRun
    else:
        from calipers.study.training.loop import Loop  # noqa: PLC0415 - heavy

        kind = Loop
    training = kind(study, run.arm, run.seed, starts.load(run.seed), rewarder, folder)
    training.run(after_step=_stop_if_orphaned)
    seconds: float = training.seconds
    return seconds


def _learnt(study: TrainingStudy, run: Run, starts: Starts, folder: RunFolder) -> Path:
    """Return a ledger from which the judge's position bias is learned: of groups of the first policy, in 4 orders."""
    import torch  # noqa: PLC0415 - heavy, and an extra

    from calipers.study.training.policy import gumbel_noise, sample  # noqa: PLC0415 - likewise

    assert run.arm is not None  # noqa: S101 - the caller has an arm
    arm, seed = run.arm, run.seed
    learnt, ledger = folder.path / _LEARNT, folder.path / _LEDGER
    if not learnt.exists():
        part = learnt.with_suffix(".part")
        part.unlink(missing_ok=True)
        asked = replace(arm, options={**arm.options, "orders": 4}, table=replace(arm.table, order="content"))
        truth = truth_for(arm.judge)
        prompts = draw_prompts(arm.table.learn, generator_of(seed, REHEARSAL))
        prompts = np.repeat(prompts, arm.training.group_size, axis=0)
        noise = gumbel_noise(len(prompts), seed_of(seed, REHEARSAL))
        responses = sample(starts.load(seed), study.policy, torch.from_numpy(prompts), noise).numpy()
        judge = judge_for(asked, seed, truth, Tally(), part)
        Rewarder(judge, asked, truth, Tally(), seed).rewards(0, prompts, responses, features(prompts, responses))
        judge.close()
        part.rename(learnt)
    shutil.copyfile(learnt, ledger)  # a run that goes on knows what it knew at its start
    return ledger


def _stop_if_orphaned(_: int) -> None:
    """Exit if the process that started this run is gone: it may be started again, with this run."""
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        sys.exit(1)


def _log_to(path: Path) -> None:
    """Write what is logged or printed to the run's file, not among the messages of other runs."""
    sys.stdout.flush()
    sys.stderr.flush()
    with path.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)


def _give_up(folder: RunFolder, why: str) -> None:
    try:
        folder.fail(why)
    except OSError as error:
        print(f"{folder.path}: {why}\n(and this cannot be recorded there: {error})", file=sys.stderr)  # noqa: T201 - the last resort
    sys.exit(1)
