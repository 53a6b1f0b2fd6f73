"""A task, its judge and its rollouts for verifiers and prime-rl, which find this module by its name.

calipers compares the rollouts of an episode in verifiers' own best-of-n environment. In earnest a judge's name replaces
`WordJudge()`, and a harness of verifiers' own `OneCall`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import aiohttp
import verifiers.v1 as vf
from tiny import ASKED, WordJudge

import calipers
from calipers.trainers.verifiers import best_of_n

__all__ = ["Judged", "OneCall", "Words"]

HELD_OUT = 2
"""Of each topic, so many of the last prompts are not trained on."""

Judged = best_of_n(calipers.Judge(WordJudge()))


class Words(vf.Taskset[vf.Task]):  # type: ignore[misc]  # not installed where types are checked
    """The prompts of tiny.py that are trained on."""

    def load(self) -> Iterable[vf.Task]:
        """Return the tasks."""
        for prompts in ASKED.values():
            for prompt in prompts[:-HELD_OUT]:
                yield vf.Task(vf.TaskData(prompt=prompt))


class OneCall(vf.Harness[vf.HarnessConfig]):  # type: ignore[misc]  # likewise
    """A rollout of one call of the model, in this process, through verifiers' own interception."""

    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str, mcp_urls: Any, data: Any
    ) -> vf.ProgramResult:
        """Ask the model once."""
        del trace, runtime, mcp_urls
        body = {"model": ctx.model, "messages": [{"role": "user", "content": self.resolve_prompt(data)[1]}]}
        headers = {"Authorization": f"Bearer {secret}"}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{endpoint}/chat/completions", json=body, headers=headers) as reply,
        ):
            told = await reply.text()
        return vf.ProgramResult(exit_code=0 if reply.ok else 1, stdout="", stderr="" if reply.ok else told)
