"""Judges the groups that this server has closed, and notes in the ledger, for the other servers, how each ended.

Not responsible for the rollouts that wait at this server (``shared_rollouts``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, KeysView, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from calipers.errors import CalipersError, LedgerError
from calipers.ledger.gatherings import Closed, Gatherings
from calipers.server.answered import AnsweredGroups
from calipers.server.gathered import HowJudged, NotJudged, judged, refused
from calipers.server.problems import RefusalError, refusal_for
from calipers.types import Trajectory
from calipers.types.encoding import printable

_log = logging.getLogger("calipers.server")

_AGAIN: Final = 1.0
"""Seconds between two attempts to reach the ledger."""
_CLOSE_SECONDS: Final = 5.0


class Judging:
    """The groups that this server judges for all servers with its ledger.

    ``on_end`` is called with the name of each, and with None if it was judged, with the reason that all servers give if
    it was not, or with an error.
    """

    def __init__(
        self,
        gatherings: Gatherings,
        answered: AnsweredGroups,
        how: HowJudged,
        *,
        on_end: Callable[[str, str | Exception | None], object],
    ) -> None:
        self._gatherings, self._answered = gatherings, answered
        self._how, self._on_end = how, on_end
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._judged: list[str] = []
        self._given_up: dict[str, tuple[str, float]] = {}
        self._again: list[str] = []
        self._noting: asyncio.Task[None] | None = None

    @property
    def names(self) -> KeysView[str]:
        """Return the names of the groups that this server judges now."""
        return self._tasks.keys()

    def begin(self, closed: Closed, prepared: Mapping[tuple[int, bytes], Trajectory]) -> None:
        """Judge a group that this server has closed. ``prepared`` are rollouts of it, by place and digest."""
        ready = {place: prepared[place, seen] for place, seen in closed.seen.items() if (place, seen) in prepared}
        task = asyncio.get_running_loop().create_task(self._judge(closed, ready))
        self._tasks[closed.name] = task
        task.add_done_callback(partial(self._done, closed.name))

    async def _judge(self, closed: Closed, prepared: Mapping[int, Trajectory]) -> None:
        found = await judged(closed, self._how, prepared)
        if not isinstance(found, NotJudged):
            self._answered.add(*found)
            self._judged.append(closed.name)
            return
        self._given_up[closed.name] = found.text, found.seconds
        self._how.on_lost(closed.name, found.why)

    def _done(self, name: str, task: asyncio.Task[None]) -> None:
        del self._tasks[name]
        error = None if task.cancelled() else task.exception()
        if task.cancelled() or isinstance(error, LedgerError):
            self._again.append(name)
        elif isinstance(error, Exception):
            end = refused(_as_refusal(error, name))
            self._given_up[name] = end.text, end.seconds
        if self._noting is None or self._noting.done():
            self._noting = asyncio.get_running_loop().create_task(self._note_all())
        given_up = self._given_up.get(name)
        if isinstance(error, Exception):
            self._on_end(name, error)
        elif not task.cancelled():
            self._on_end(name, None if given_up is None else given_up[0])

    async def _note_all(self) -> None:
        """Write down how groups ended, so that the other servers know. What ends meanwhile shares the next write."""
        while self._judged or self._given_up or self._again:
            judged, given_up, again = list(self._judged), dict(self._given_up), list(self._again)
            try:
                await self._gatherings.end(judged, given_up, again)
            except LedgerError as error:
                _log.warning("other servers will be told later how groups ended: %s", error)
                await asyncio.sleep(_AGAIN)
                continue
            del self._judged[: len(judged)], self._again[: len(again)]
            for name in given_up:
                del self._given_up[name]

    async def finish(self) -> None:
        """Wait until the groups that this server judges have their results."""
        while self._tasks:
            await asyncio.wait(tuple(self._tasks.values()))

    async def aclose(self) -> None:
        """End judging on this server; what is not judged yet is noted for another one, within a few seconds."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # in which ``_done`` is called for each
        if self._noting is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._noting, _CLOSE_SECONDS)


def _as_refusal(error: Exception, name: str) -> RefusalError:
    """Return what the callers at other servers are answered for an error of this one."""
    if isinstance(error, CalipersError):
        return refusal_for(error)
    _log.error("group %s: the server failed", printable(name)[:200], exc_info=error)
    return RefusalError(500, "internal", "the server that judged the group failed; its log says more")
