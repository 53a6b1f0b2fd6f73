"""One question to a judge with tools: its turns, each a request of its own, until it answers without a call.

Every turn is recorded and replayed like a question. Tools return the same result for the same call, so the recorded
answers lead through the same turns again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from calipers.judging.toolbox import MOST_RESULT, Toolbox
from calipers.protocols.tools import with_results, with_tools
from calipers.types import (
    NO_FAILED_CALLS,
    Answered,
    Ask,
    Completion,
    Failure,
    JudgeRequest,
    Reading,
    ToolCall,
    Window,
    said_and_calls,
)

TURNS: Final = 8
"""How many answers about one question may call tools."""
_MOST_BYTES: Final = 65_536
"""How many bytes the tools may return about one question."""
_MOST_CALLS: Final = 16
"""The most calls of one turn that are answered; further ones are left out of the conversation."""
_NUMBERS: Final = 10_000_000
"""How far apart the numbers of a question's turns are in the ledger, more than a group has questions."""
_AROUND: Final = 1_500
"""Tokens for the definitions of the tools, and for the instructions."""
_LAST: Final = "\n(There are no more turns with tools: answer now, without a call.)"


def window_beside(window: Window | None) -> tuple[Window | None, int]:
    """Return the part of the judge's context window that is for the first turn, and how many bytes tools may return.

    The results of tools get at most half of the window.
    """
    if window is None:
        return None, _MOST_BYTES
    room = min(_AROUND + int(_MOST_BYTES / window.bytes_per_token), window.tokens // 2)
    left = max(0, int((room - _AROUND) * window.bytes_per_token))
    return replace(window, tokens=window.tokens - room), min(left, _MOST_BYTES)


class Inspection:
    """The turns of one question to a judge with tools. ``room`` is how many bytes the tools may return in all."""

    def __init__(self, question: JudgeRequest, names: Sequence[str], room: int) -> None:
        self._toolbox = Toolbox(question, names)
        self._room = room
        self._number = question.ask.number
        self.request = with_tools(question, names, TURNS)
        self.turns: list[Answered] = []

    async def follow(self, completion: Completion, question: str) -> Reading | Failure:
        """Run the tools that ``completion`` calls; ``request`` is then the next one to send to the judge.

        Returns what is noted of the turn, or a failure if no further turn is allowed. ``question`` is the turn's key in
        the ledger.
        """
        said, calls = said_and_calls(completion)
        names = ", ".join(dict.fromkeys(call.name for call in calls)) or "nothing that can be read"
        reading = Reading((), "strict", f"called {names}"[:300])
        ask = self.request.ask
        failed = completion.failed or NO_FAILED_CALLS
        self.turns.append(Answered(ask, reading, completion.usage, failed, question))
        turn = len(self.turns)
        if turn > TURNS or not calls:
            # A number of its own, for the last turn's number has the last answer.
            self.request = replace(self.request, ask=self._numbered(turn))
            return self._failure(turn, calls)
        answered = calls[:_MOST_CALLS]
        results = [await self._result(call) for call in answered]
        if len(calls) > _MOST_CALLS:
            results[-1] += f"\n(A turn may have {_MOST_CALLS} calls; {len(calls) - _MOST_CALLS} more were not made.)"
        if turn == TURNS:
            results[-1] += _LAST
        following = with_results(self.request, said, answered, results, turn=turn)
        self.request = replace(following, ask=self._numbered(turn))
        return reading

    async def _result(self, call: ToolCall) -> str:
        if self._room <= 0:
            return "error: the tools have returned all that they may about this question; answer now, without a call"
        result = await asyncio.to_thread(self._toolbox.run, call, min(self._room, MOST_RESULT))
        self._room -= len(result.encode())
        return result

    def _numbered(self, turn: int) -> Ask:
        return replace(self.request.ask, number=self._number + turn * _NUMBERS, cause="tools")

    def _failure(self, turn: int, calls: Sequence[ToolCall]) -> Failure:
        if not calls:
            return Failure("bad_reply", "the judge called tools in a form that cannot be read")
        return Failure(
            "bad_reply",
            f"the judge called tools in {turn} answers and gave no verdict; it may call them in {TURNS}",
        )
