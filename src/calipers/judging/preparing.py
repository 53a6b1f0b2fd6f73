"""Does part of the judging of each rollout as it arrives, so that little is left to do when its group is complete."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from calipers.guard.injection import find_attacks, search_in_steps, searched_texts
from calipers.pacing import pace_of_loop
from calipers.render import Reasoning, Transcriber
from calipers.types import Message, Prepared, Trajectory, TrajectoryGroup

Prepare: TypeAlias = Callable[[Trajectory], Trajectory]
"""A function that returns a rollout of one group with its ``prepared`` set."""

Preparing: TypeAlias = Callable[[TrajectoryGroup], Prepare]
"""A function from a group without trajectories to the function that prepares each rollout of the group."""


_REMEMBERED: Final = 1024
"""Texts whose search is remembered: rollouts are prepared right after it, and some have the texts of others."""


class EarlySearch:
    """Searches rollouts that arrive together for attacks, in one pass for all their groups, on one event loop."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}
        self._texts: dict[str, None] = {}
        self._waiting: list[asyncio.Future[None]] = []
        self._searching: set[asyncio.Task[None]] = set()

    async def search(self, messages: Sequence[Message]) -> None:
        """Search the messages of a rollout, which is prepared for judging right after this."""
        new = [text for text in searched_texts(messages) if text not in self._known]
        if not new:
            return
        self._texts |= dict.fromkeys(new)
        loop = asyncio.get_running_loop()
        if not self._waiting:
            searching = loop.create_task(self._search())
            self._searching.add(searching)
            searching.add_done_callback(self._searching.discard)
        searched = loop.create_future()
        self._waiting.append(searched)
        await searched

    async def _search(self) -> None:
        await asyncio.sleep(0)  # rollouts that were read in the same turn of the event loop get here first
        texts, self._texts = self._texts, {}
        waiting, self._waiting = self._waiting, []
        try:
            found = await pace_of_loop().run(search_in_steps(texts))
            if len(self._known) > _REMEMBERED:
                self._known.clear()
            self._known.update(found)
        finally:  # a rollout that was not searched here is searched when it is prepared
            for searched in waiting:
                if not searched.done():
                    searched.set_result(None)

    def known_in(self, messages: Sequence[Message]) -> Mapping[str, Any]:
        """Return what the latest searches found in the messages of a rollout, before the rollout is judged."""
        return {text: self._known[text] for text in searched_texts(messages) if text in self._known}


def rollout_preparer(
    head: TrajectoryGroup,
    *,
    reasoning: Reasoning,
    early: EarlySearch | None = None,
) -> Prepare:
    """Return a function that prepares each rollout of ``head`` for judging: canonical form, transcript, attacks found.

    Judging the complete group would do the same work, with the same results. ``early`` has searched the rollout
    already.
    """
    transcriber = Transcriber(head, reasoning)
    searched: dict[str, Any] = {}  # texts searched already: rollouts may repeat the prompt

    def prepare(member: Trajectory) -> Trajectory:
        transcript = transcriber.transcript(member)
        if early is not None:
            searched.update(early.known_in(transcript.messages))
        attacks = find_attacks(transcript.messages, known=searched)
        found = Prepared(member.messages, head.context, reasoning, transcript, attacks)
        return replace(member, prepared=found)

    return prepare
