"""The tool ``shell``: a command over a copy of a candidate's files, in the sandbox that runs rules.

The sandbox starts no other program, so the shell is a program of ours (``shell_program``, ``shell_python``) over texts
in memory. Each call starts from the artifacts as they were. Not responsible for escapes (``toolbox``).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Final

from calipers.interfaces import FullBackend
from calipers.types import Completion, JudgeRequest, Usage
from calipers.verifiers.sandbox import ALLOWED, Job, Outcome, shared_sandbox

VERSION: Final = "2"
"""Changes when a command's result may; recorded results belong to one version."""


def run_command(command: str, attempt: Mapping[str, str], task: Mapping[str, str]) -> Outcome:
    """Run a command; the outcome's output is the exit code, and from the next line on what was printed.

    Raises ConfigError if this system has no sandbox.
    """
    given = json.dumps({"attempt": dict(attempt), "task": dict(task), "command": command})
    return shared_sandbox().run([Job(_source(), stdin=given)])[0]


@cache
def _source() -> str:
    """Return both programs as one text, without the second one's import of the first, and with the sandbox's names."""
    folder = files("calipers.judging")
    first, second = (folder.joinpath(name).read_text("utf-8") for name in ("shell_program.py", "shell_python.py"))
    modules = sorted({name.partition(".")[0] for name in ALLOWED})
    second = second.replace("from __future__ import annotations\n", "")
    second = second.replace("from calipers.judging.shell_program import Shell, ShellError, main\n", "")
    return first + second.replace("frozenset[str] = frozenset()", f"frozenset[str] = frozenset({modules})")


class ShellRun(FullBackend):
    """One call of ``shell`` as a backend: a ledger records its result like an answer, and a replay runs nothing."""

    endpoint, model = "sandbox", f"shell-{VERSION}"

    def __init__(self, run: Callable[[], str]) -> None:
        self._run = run

    async def complete(self, request: JudgeRequest) -> Completion:  # noqa: ARG002 - the interface
        """Run the command in a thread, and return its result as the answer."""
        return Completion(await asyncio.to_thread(self._run), usage=Usage(cost_usd=0.0))


def shell_request(request: JudgeRequest, follows_from: str, number: int) -> JudgeRequest:
    """Return the request under which a call is recorded. Equal inputs have equal keys in the ledger."""
    digest = hashlib.sha256(follows_from.encode("utf-8", "surrogatepass")).hexdigest()
    return replace(
        request,
        messages=({"role": "user", "content": digest},),
        ask=replace(request.ask, number=number, cause="shell", sample=0),
        schema=None,
        max_tokens=None,
        params={},
        tools=(),
    )
