"""A loopback judge that scores each attempt with what it says to be worth, and writes down each question it is asked.

    python -m benchmarks.faults.accounting_judge --port 9000 --account FILE [--delay 0.05]

A line of the account is ``asked NUMBER GROUP SECONDS`` or ``answered NUMBER GROUP SECONDS``; it outlives the judge's
own death. An attempt says ``worth 80``, and its group's question ``It is task 7.``
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import time
from itertools import count
from pathlib import Path

from benchmarks.judge_server import JudgeProtocol, completion

_SHOWN = re.compile(r"candidate ([A-Z]+)\n(.*?)\n(?=@\w+ (?:candidate|end\n))", re.DOTALL)
_TASK = re.compile(r"It is task (\d+)\.")
_WORTH = re.compile(r"worth (\d+)")
_NUMBERS = count(os.getpid() * 10**6)


class AccountingProtocol(JudgeProtocol):
    """One connection. Questions that are about no group are answered as the other benchmarks' judge does."""

    def __init__(self, account: int, *, delay: float) -> None:
        super().__init__({"answered": 0, "probes": 0}, delay=delay)
        self._account = account

    def _answer(self, question: bytes) -> None:
        found = _TASK.search(question.decode(errors="replace"))
        if found is None:
            super()._answer(question)
            return
        number, group = next(_NUMBERS), int(found[1])
        self._write("asked", number, group)
        self._loop.call_later(self._delay, self._send_verdict, question, number, group)

    def _send_verdict(self, question: bytes, number: int, group: int) -> None:
        if self._transport is None or self._transport.is_closing():
            return  # whoever asked is gone
        body = completion(question)
        text = json.loads(question.partition(b"\r\n\r\n")[2])["messages"][-1]["content"]
        scores = {key: int(_WORTH.findall(shown)[-1]) for key, shown in _SHOWN.findall(text)}
        verdict = {"explanations": dict.fromkeys(scores, "as it says"), "scores": scores}
        body["choices"][0]["message"]["content"] = json.dumps(verdict)
        self._write("answered", number, group)
        self._send(body)

    def _write(self, event: str, number: int, group: int) -> None:
        os.write(self._account, f"{event} {number} {group} {time.time():.3f}\n".encode())


async def serve(port: int, account: Path, delay: float) -> None:
    file = os.open(account, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
    loop = asyncio.get_running_loop()
    await loop.create_server(lambda: AccountingProtocol(file, delay=delay), "127.0.0.1", port, backlog=1024)
    print("ready", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--account", type=Path, required=True)
    parser.add_argument("--delay", type=float, default=0.05, help="seconds before an answer")
    options = parser.parse_args()
    asyncio.run(serve(options.port, options.account, options.delay))
