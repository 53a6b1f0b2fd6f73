"""The matrix: every arm with every seed, each run in a process of its own, some at the same time.

A run that fails leaves the others and is reported; repeated, the command goes on with what is not finished. Not
responsible for what a run does (``one_run``) or for what follows from the results (``summary``).
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from calipers.errors import ConfigError
from calipers.study.training.one_run import Run, run_in_process, settings_of_run, starts_in
from calipers.study.training.settings import TrainingStudy

_PRELOADED = ("calipers.study.training.loop",)


@dataclass(frozen=True, slots=True)
class Failed:
    """A run of the matrix that ended early, and why."""

    run: Run
    why: str


def runs_of(study: TrainingStudy) -> list[Run]:
    """Return all runs of the matrix: seed by seed, so that an unfinished study has whole pairs."""
    return [Run(seed, arm) for seed in range(study.seeds) for arm in study.arms if seed < arm.seeds]


def make_runs(
    study: TrainingStudy, out: Path, *, workers: int = 1, tell: Callable[[str], object] = lambda _: None
) -> list[Failed]:
    """Make all runs of the matrix that are not finished in the folder ``out``, and return those that failed.

    ``workers`` runs are made at the same time, each on one core. ``tell`` is called with a line for each run.
    """
    runs = runs_of(study)
    starts = starts_in(out, study)
    open_runs = [run for run in runs if run.folder(out).finished is None]
    first = {starts.path(run.seed): run.seed for run in reversed(open_runs) if not starts.is_made(run.seed)}
    if done := len(runs) - len(open_runs):
        tell(f"{done} of {len(runs)} runs are finished already")
    failed = _in_processes(study, [Run(seed) for seed in sorted(first.values())], out, workers, tell)
    made = [run for run in open_runs if starts.is_made(run.seed)]
    without = [Failed(run, "it has no first policy") for run in open_runs if not starts.is_made(run.seed)]
    return [*failed, *without, *_in_processes(study, made, out, workers, tell)]


def _in_processes(
    study: TrainingStudy, runs: Sequence[Run], out: Path, workers: int, tell: Callable[[str], object]
) -> list[Failed]:
    """Make ``runs``, at most ``workers`` at a time, each in a new process; return those that failed."""
    context = _context()
    waiting = list(reversed(runs))
    active: dict[Any, tuple[Any, Run]] = {}
    failed: list[Failed] = []
    try:
        while waiting or active:
            while waiting and len(active) < workers:
                run = waiting.pop()
                process = context.Process(target=run_in_process, args=(study, run, out), daemon=True)
                process.start()
                active[process.sentinel] = (process, run)
            for sentinel in wait(list(active)):
                process, run = active.pop(sentinel)
                process.join()
                why = None if process.exitcode == 0 else _reason(run, out, process.exitcode)
                if why is not None:
                    failed.append(Failed(run, why))
                left = len(waiting) + len(active)
                tell(f"{run.name}: {'done' if why is None else 'failed: ' + _last_line(why)} ({left} to go)")
    finally:
        for process, _ in active.values():
            process.terminate()
        for process, _ in active.values():
            process.join()
    return failed


def _context() -> Any:
    """Return how processes are started: from a server that has imported PyTorch once, where there is such a thing."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    return context


def _reason(run: Run, out: Path, code: int | None) -> str:
    recorded = run.folder(out).error
    if recorded is not None:
        return recorded.strip()
    if code is not None and code < 0:
        return f"its process was ended by signal {-code}"
    return f"its process ended with code {code}"


def _last_line(text: str) -> str:
    return text.splitlines()[-1] if text else ""


def require_same_runs(study: TrainingStudy, out: Path) -> None:
    """Raise ConfigError if the folder ``out`` holds runs of the matrix with other settings."""
    for run in runs_of(study):
        run.folder(out).require_same(settings_of_run(study, run))


def require_usable(out: Path) -> None:
    """Raise ConfigError if ``out`` cannot be the folder of a training study: a file, or a folder with other things."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"-o {out}: is a file; name a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / "study.json").exists():
        raise ConfigError(f"-o {out}: is a folder with other files in it; name a new one")
