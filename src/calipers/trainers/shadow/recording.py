"""Judges groups beside a trainer, in a thread of its own, and records today's rewards with the judge's.

Whatever goes wrong here reaches the log and never the trainer. Not responsible for a trainer's own form of groups
(``shadow.trl``, ``shadow.verl``), or for what the records say (``shadow.comparison``).
"""

from __future__ import annotations

import asyncio
import glob
import itertools
import json
import logging
import math
import os
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

from calipers.config.arguments import require_above_zero, require_whole
from calipers.errors import ConfigError, InputError
from calipers.judging.judge import Judge
from calipers.trainers.process.judges import JudgeLike, build_judge
from calipers.types import GroupResult, TrajectoryGroup

_log = logging.getLogger(__name__)


class Shadow:
    """Scores groups with ``judge`` beside a trainer, and appends a line for each to a file in the folder ``out``.

    A judge given by name has its ledger in ``out``; a Judge of the caller's brings its own. Each process has files of
    its own, made at its first group. At most ``most`` groups wait or are judged; further ones are left out and counted,
    so that a slow judge takes no memory. ``submit`` returns at once. Raises ConfigError for settings that cannot work;
    a judge that cannot be made or reached later is in the log.
    """

    def __init__(self, judge: JudgeLike, out: str | Path, *, most: int = 256) -> None:
        require_whole(most=most)
        require_above_zero(most=most)
        if not isinstance(judge, str | Judge | list | tuple) and not callable(judge):
            raise ConfigError(f"judge={judge!r}: give a judge's name, a calipers.Judge, or a function that makes one")
        if isinstance(judge, str):
            Judge(judge)  # a mistyped name is reported where it stands
        self._source = judge
        self._out = Path(out)
        self._most = most
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._judge: Judge | None = None
        self._name: str | None = None
        self._waiting: set[Future[None]] = set()
        self._number = self._left_out = 0
        self._broken = False

    def __getstate__(self) -> dict[str, Any]:
        """How the object is sent to a trainer's other process, which begins anew."""
        if isinstance(self._source, Judge):
            raise ConfigError(
                "shadow: a Judge cannot be sent to another process: give its name, or a module's function that makes it"
            )
        return {"_source": self._source, "_out": self._out, "_most": self._most}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    def submit(self, made: Callable[[], Sequence[tuple[TrajectoryGroup, Sequence[Any]]]]) -> None:
        """Take groups with today's rewards, in their order; ``made`` makes them. Returns at once, and never raises.

        A reward that is None or not finite is none. A group with more or fewer rewards than trajectories is not judged,
        and recorded as failed.
        """
        try:
            self._submit(made())
        except Exception as error:  # noqa: BLE001 - a trainer's step must not fail because of its shadow
            self._report(error)

    def _report(self, error: BaseException) -> None:
        if not self._broken:
            self._broken = True
            _log.warning(
                "shadow: groups could not be recorded (further ones are not reported): %s: %s",
                type(error).__name__, error,
            )  # fmt: skip

    def _submit(self, groups: Sequence[tuple[TrajectoryGroup, Sequence[Any]]]) -> None:
        if self._process != os.getpid():  # a fork has none of its parent's threads
            self._reset()
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._run, args=[self._loop], name="calipers-shadow", daemon=True).start()
            for group, rewards in groups:
                self._number += 1
                if len(self._waiting) >= self._most:
                    self._left_out += 1
                    continue
                today = [_number(reward) for reward in rewards]
                done = asyncio.run_coroutine_threadsafe(self._record(self._number, group, today), self._loop)
                self._waiting.add(done)
                done.add_done_callback(self._waiting.discard)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            try:
                loop.run_forever()
            except BaseException as error:  # noqa: BLE001 - SystemExit in a judge's task ends the loop, and no process
                self._report(error)

    async def _record(self, number: int, group: TrajectoryGroup, today: list[float | None]) -> None:
        try:
            await self._judge_and_write(number, group, today)
        except BaseException as error:  # noqa: BLE001 - nobody waits for it, and SystemExit would end the thread alone
            self._report(error)

    async def _judge_and_write(self, number: int, group: TrajectoryGroup, today: list[float | None]) -> None:
        if len(today) != len(group.trajectories):
            counts = f"{len(today)} rewards for a group of {len(group.trajectories)}"
            self._write(
                self._line(number, group, [], GroupResult(group.group_id, "failed", ()), 0.0) | {"reason": counts}
            )
            raise InputError(f"{counts} (group {group.group_id!r:.80})")
        started = asyncio.get_running_loop().time()
        if self._judge is None:
            self._out.mkdir(parents=True, exist_ok=True)  # where a ledger beside the records is made
            self._judge = self._made()
        result = await self._judge.score_group(group)
        self._write(self._line(number, group, today, result, asyncio.get_running_loop().time() - started))

    def _write(self, line: dict[str, Any]) -> None:
        self._out.mkdir(parents=True, exist_ok=True)
        with self._path(".jsonl").open("a", encoding="utf-8", errors="replace") as stream:
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")

    def _made(self) -> Judge:
        if isinstance(self._source, str):
            return Judge(self._source, ledger=str(self._path(".ledger.db")))
        return build_judge(self._source)

    def _path(self, suffix: str) -> Path:
        if self._name is None:  # an earlier process may have had this number, as in a container, which begins anew
            own = f"{socket.gethostname()}-{os.getpid()}"
            names = itertools.chain([own], (f"{own}-{number}" for number in itertools.count(2)))
            self._name = next(name for name in names if not any(self._out.glob(f"{glob.escape(name)}.*")))
        return self._out / f"{self._name}{suffix}"

    def _line(
        self, number: int, group: TrajectoryGroup, today: list[float | None], result: GroupResult, seconds: float
    ) -> dict[str, Any]:
        missing = next((one.reason for one in result.trajectories if one.reward is None), None)
        return {
            "number": number,
            "left_out": self._left_out,
            "group_id": group.group_id,
            **{name: group.extra[name] for name in ("step", "split", "policy_version") if name in group.extra},
            "status": result.status,
            "today": today,
            "judge": [one.reward for one in result.trajectories],
            "reason": missing,
            "calls": result.judge_calls,
            "seconds": round(seconds, 3),
        }

    def close(self, seconds: float = 60.0) -> int:
        """Wait up to ``seconds`` for groups that are being judged; return how many were not. For the end of a run."""
        with self._lock:
            waiting = set(self._waiting)
        return len(wait(waiting, timeout=seconds).not_done)


def _number(reward: Any) -> float | None:
    try:
        found = None if reward is None else float(reward)
    except OverflowError:  # of a whole number with hundreds of digits
        return None
    return found if found is not None and math.isfinite(found) else None
