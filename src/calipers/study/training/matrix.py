"""The matrix: every arm with every seed. A finished run is one file; repeated, the command makes what is missing.

A run that fails leaves the others, and is reported.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from calipers.errors import CalipersError, ConfigError
from calipers.study.training.loop import train
from calipers.study.training.rollouts import Policy
from calipers.study.training.settings import Arm, Study
from calipers.study.training.study_file import StudyFile
from calipers.types.encoding import to_json

_TOML: Final = "study.toml"
_CLOSED_FORM: Final = "closed-form"


@dataclass(frozen=True, slots=True)
class Run:
    """A run of ``arm`` with ``seed``."""

    arm: Arm
    seed: int

    @property
    def name(self) -> str:
        """The run's name for people."""
        return f"{self.arm.name}, seed {self.seed}"

    def file(self, out: Path) -> Path:
        """Return the run's file in the study's folder ``out``."""
        return out / "runs" / self.arm.name / f"{self.seed}.json"


def runs_of(study: Study) -> list[Run]:
    """Return all runs of a study: seed by seed, so that an unfinished study has whole pairs."""
    first = study.first_seed
    return [Run(arm, first + number) for number in range(study.seeds) for arm in study.arms if number < arm.seeds]


def settings_of(study: Study, arm: Arm) -> dict[str, Any]:
    """Return all settings that decide the results of an arm's runs, as plain data."""
    of_policy = ("closed_form",) if study.policy == _CLOSED_FORM else ("gpt", "pretraining")
    shared = {name: getattr(study, name) for name in ("policy", "steps", "evaluation", *of_policy)}
    shared = {name: value if isinstance(value, str | int) else asdict(value) for name, value in shared.items()}
    fields = asdict(arm)
    for name in ("name", "seeds", "against"):
        del fields[name]
    for name in ("name", "judge", "against", "control", "seeds", "options", "training", "vary"):
        del fields["table"][name]
    settings: dict[str, Any] = json.loads(to_json({**shared, **fields}))
    return settings


def make_runs(
    file: StudyFile, out: Path, *, workers: int = 1, tell: Callable[[str], object] = lambda _: None
) -> dict[str, str]:
    """Make all runs of a study that are not finished in the folder ``out``; return why runs failed, by their names.

    ``workers`` runs are made at the same time, each on one core. ``tell`` is called with a line for each run. Raises
    ConfigError, before any run, if ``out`` holds another study or other things, or if a library is missing.
    """
    study, runs = file.study, runs_of(file.study)
    if study.policy != _CLOSED_FORM and find_spec("torch") is None:
        raise ConfigError("the policy gpt needs PyTorch: pip install 'calipers[train]', or take --policy closed-form")
    if out.exists() and not out.is_dir():
        raise ConfigError(f"-o {out}: is a file; name a folder")
    if out.is_dir() and any(out.iterdir()) and not (out / _TOML).is_file():
        raise ConfigError(f"-o {out}: is a folder with other files in it; name a new one")
    left = [run for run in runs if read_run(study, run, out) is None]
    if len(left) < len(runs):
        tell(f"{len(runs) - len(left)} of {len(runs)} runs are finished already")
    failed: dict[str, str] = {}
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / _TOML).write_text(file.text, encoding="utf-8")
        if study.policy != _CLOSED_FORM:
            seeds = sorted({run.seed for run in left})
            firsts = seeds if study.pretraining.seed is None else seeds[:1]
            tasks = [(f"first policy, seed {seed}", _pretrain, (study, seed, out)) for seed in firsts]
            failed |= _finished(tasks, workers, tell)
        if not failed:
            failed |= _finished([(run.name, _make, (file, run, out)) for run in left], workers, tell)
    except OSError as error:
        raise ConfigError(f"{out}: cannot be written ({error.strerror}); repeat the command to go on") from error
    return failed


_Task = tuple[str, Callable[..., str | None], tuple[Any, ...]]


def _finished(tasks: Sequence[_Task], workers: int, tell: Callable[[str], object]) -> dict[str, str]:
    """Run the tasks, and return why some failed, by their names."""
    failed: dict[str, str] = {}
    for finished, (name, why) in enumerate(_results(tasks, workers), 1):
        if why is not None:
            failed[name] = why
        outcome = "done" if why is None else f"failed: {why.strip().splitlines()[-1]}"
        tell(f"{name}: {outcome} ({len(tasks) - finished} to go)")
    return failed


def _results(tasks: Sequence[_Task], workers: int) -> Iterator[tuple[str, str | None]]:
    """Yield each task's name, and why it failed, as they end; with several workers, each in a process."""
    if workers == 1:
        for name, make, arguments in tasks:
            yield name, make(*arguments)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _begin_worker)
    try:
        futures: dict[Future[str | None], str] = {pool.submit(make, *args): name for name, make, args in tasks}
        for future in as_completed(futures):
            try:
                yield futures[future], future.result()
            except BrokenProcessPool:
                yield futures[future], "a process was ended from outside; repeat the command to go on"
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()


def _begin_worker() -> None:
    """Make a worker end with its parent, however that ends: by itself it would finish its run, and wait for ever."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches every process of a terminal: no traceback for each
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
    os._exit(1)


def _pretrain(study: Study, seed: int, out: Path) -> str | None:
    from calipers.study.training.gpt_policy import first_policy  # noqa: PLC0415 - heavy, and an extra

    first_policy(study, seed, out / "starts")
    return None


def _make(file: StudyFile, run: Run, out: Path) -> str | None:
    """Make a run and write its file; return why it failed, if it did. A full disk is the study's failure."""
    try:
        result = train(file.study, run.arm, run.seed, _policy(file.study, run, out), folder=file.folder)
    except CalipersError as error:
        return str(error)
    except Exception:  # noqa: BLE001 - a crash of one run is reported, and leaves the others
        return traceback.format_exc(limit=-3)
    path = run.file(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_bytes(to_json({"settings": settings_of(file.study, run.arm), **result}) + b"\n")
    part.replace(path)
    return None


def _policy(study: Study, run: Run, out: Path) -> Policy:
    if study.policy == _CLOSED_FORM:
        from calipers.study.training.closed_form import ClosedFormPolicy  # noqa: PLC0415 - needs NumPy only

        return ClosedFormPolicy(study.closed_form, run.arm)
    from calipers.study.training.gpt_policy import GptPolicy  # noqa: PLC0415 - heavy, and an extra

    return GptPolicy(study, run.arm, run.seed, out / "starts")


def read_run(study: Study, run: Run, out: Path) -> Mapping[str, Any] | None:
    """Return a finished run: its rows of ``steps`` and ``evaluations``; None if it is not finished.

    Raises ConfigError for a damaged file, and for a run with other settings.
    """
    path = run.file(out)
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or not {"settings", "steps", "evaluations"} <= document.keys():
        raise ConfigError(f"{path}: is damaged; delete it, and the run is made again")
    if document["settings"] != (now := settings_of(study, run.arm)):
        names = sorted(key for key in {*document["settings"], *now} if document["settings"].get(key) != now.get(key))
        raise ConfigError(
            f"{path}: the run there has other settings ({', '.join(names)}); name another folder with -o, or delete "
            "this one"
        )
    return document
