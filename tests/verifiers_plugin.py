"""A taskset, a harness that needs no sandbox, and nothing else: what ``--env.taskset.id verifiers_plugin`` finds.

The harness makes its one model call in process, through verifiers' own interception, as verifiers allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import aiohttp
import verifiers.v1 as vf

__all__ = ["Jokes", "OneCall"]


class Jokes(vf.Taskset[vf.Task]):  # type: ignore[misc]  # not installed where types are checked
    def load(self) -> Iterable[vf.Task]:
        yield vf.Task(vf.TaskData(prompt="Tell a joke.", system_prompt="Be brief."))


class OneCall(vf.Harness[vf.HarnessConfig]):  # type: ignore[misc]  # not installed where types are checked
    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str, mcp_urls: Any, data: Any
    ) -> vf.ProgramResult:
        system, prompt = self.resolve_prompt(data)
        messages = [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
        headers = {"Authorization": f"Bearer {secret}"}
        async with aiohttp.ClientSession() as session:
            call = session.post(
                f"{endpoint}/chat/completions", json={"model": ctx.model, "messages": messages}, headers=headers
            )
            async with call as reply:
                told = await reply.text()
        return vf.ProgramResult(exit_code=0 if reply.ok else 1, stdout="", stderr="" if reply.ok else told)
