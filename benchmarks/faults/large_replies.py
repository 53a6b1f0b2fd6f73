"""Peak memory of a process to which 64 replies of 15 MB come at once, and how many of them are read.

    python -m benchmarks.faults.large_replies [--replies 64] [--megabytes 15] [--shape NAME]...

A loopback server in a process of its own waits until every question has been asked, then answers all of them in the
same moment, each with a well-formed verdict padded in one of several ways. One client process a shape; its peak is what
the system counted (``ru_maxrss``), interpreter and libraries included, which the first row has alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import calipers
from benchmarks.environment import ROOT
from benchmarks.sample_groups import sample_groups
from benchmarks.speed.spine import verdict

_KEYED = re.compile(rb'"required": ?\[([^]]+)\]')
_PIECE = 65_536
_TARGET = 300
"""MB."""

Shape = Callable[[Sequence[str], int], Iterator[str]]


def _scores(keys: Sequence[str]) -> str:
    return json.dumps({key: 90 - 15 * place for place, key in enumerate(keys)})


def _filled(before: str, filler: str, after: str, size: int) -> Iterator[str]:
    yield before
    piece = filler * (_PIECE // len(filler))
    for _ in range(max(0, size // len(json.dumps(piece, ensure_ascii=False).encode()))):  # as it travels
        yield piece
    yield after


def _small(keys: Sequence[str], size: int) -> Iterator[str]:
    del size
    yield f'{{"scores": {_scores(keys)}}}'


def _explained_after(keys: Sequence[str], size: int) -> Iterator[str]:
    return _filled(
        f'{{"scores": {_scores(keys)}, "explanations": {{"{keys[0]}": "', "It looks the order up. ", '"}}', size
    )


def _explained_before(keys: Sequence[str], size: int) -> Iterator[str]:
    return _filled(
        f'{{"explanations": {{"{keys[0]}": "', "It looks the order up. ", f'"}}, "scores": {_scores(keys)}}}', size
    )


def _escaped(keys: Sequence[str], size: int) -> Iterator[str]:
    return _filled(f'{{"explanations": {{"{keys[0]}": "', r"\n\"\\", f'"}}, "scores": {_scores(keys)}}}', size)


def _wide(keys: Sequence[str], size: int) -> Iterator[str]:
    """One character outside of the usual planes makes every character of a text take four bytes."""
    return _filled(
        f'{{"explanations": {{"{keys[0]}": "\U0001f6eb',
        "It looks the order up. ",
        f'"}}, "scores": {_scores(keys)}}}',
        size,
    )


def _in_many_words(keys: Sequence[str], size: int) -> Iterator[str]:
    note = "It looks the order up. " * 40
    return _filled('{"notes": ["begun"', f', "{note}"', f'], "scores": {_scores(keys)}}}', size)


def _padded(keys: Sequence[str], size: int) -> Iterator[str]:
    return _filled('{"scores":', " \n", f"{_scores(keys)}}}", size)


def _reasoned(keys: Sequence[str], size: int) -> Iterator[str]:
    return _filled("<think>", "Let me see. ", f'</think>{{"scores": {_scores(keys)}}}', size)


def _fenced(keys: Sequence[str], size: int) -> Iterator[str]:
    return _filled(
        f'```json\n{{"scores": {_scores(keys)}, "explanations": {{"{keys[0]}": "', "It looks. ", '"}}\n```', size
    )


SHAPES: Mapping[str, Shape] = {
    "small": _small,
    "explained-after": _explained_after,
    "explained-before": _explained_before,
    "escaped": _escaped,
    "wide": _wide,
    "many-notes": _in_many_words,
    "padded": _padded,
    "reasoned": _reasoned,
    "fenced": _fenced,
    "streamed": _explained_before,
}


class Server:
    """Answers POSTs once ``replies`` of them are there; everything else with an empty list of models."""

    def __init__(self, replies: int, size: int, shape: str) -> None:
        self._left = replies
        self._all = asyncio.Event()
        self._size = size
        self._shape = SHAPES[shape]
        self._streams = shape == "streamed"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
                question = await reader.readexactly(int(length[1]) if length else 0)
                if head.startswith(b"POST"):
                    self._left -= 1
                    if self._left <= 0:
                        self._all.set()
                    await self._all.wait()
                    await self._answer(question, writer)
                else:
                    writer.write(
                        b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{"data":[]}'
                    )
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, question: bytes, writer: asyncio.StreamWriter) -> None:
        found = _KEYED.search(question, question.find(b'"response_format"'))
        keys = json.loads(b"[" + found[1] + b"]") if found else ["A"]
        kind = b"text/event-stream" if self._streams else b"application/json"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: " + kind + b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        said = (json.dumps(text, ensure_ascii=False)[1:-1] for text in self._shape(keys, self._size))
        for piece in self._events(said) if self._streams else self._whole(said):
            data = piece.encode()
            writer.write(b"%x\r\n%s\r\n" % (len(data), data))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    @staticmethod
    def _whole(said: Iterator[str]) -> Iterator[str]:
        yield '{"model": "judge", "choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "'
        yield from said
        yield '"}}], "usage": {"prompt_tokens": 2400, "completion_tokens": 160}}'

    @staticmethod
    def _events(said: Iterator[str]) -> Iterator[str]:
        for text in said:
            for at in range(0, len(text), 2000):
                yield f'data: {{"choices": [{{"index": 0, "delta": {{"content": "{text[at : at + 2000]}"}}}}]}}\n\n'
        yield 'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


async def _serve(options: argparse.Namespace) -> None:
    server = Server(options.replies, int(options.megabytes * 2**20), options.shape[0])
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, backlog=1024)
    print(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


async def _ask(options: argparse.Namespace) -> None:
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        async with calipers.Judge(
            "openai/judge",
            base_url=options.url,
            api_key="k",
            concurrency=options.replies,
            calls={"attempts": 1, "timeout": options.timeout},
            ledger=Path(folder) / "l.db",
        ) as judge:
            results = [result async for result in judge.score_groups(sample_groups(options.replies))]
        kept = _bytes_in(Path(folder))
    read = sum(result.status == "scored" for result in results)
    reasons = sorted({str(one.reason)[:120] for result in results for one in result.trajectories if one.reason})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps({"read": read, "peak": peak, "seconds": time.perf_counter() - began, "kept": kept, "why": reasons})
    )


def _measured(shape: str, options: argparse.Namespace) -> dict[str, Any]:
    """One shape, in a server and a client of their own."""
    command = [sys.executable, "-m", "benchmarks.faults.large_replies", "--shape", shape]
    command += ["--replies", str(options.replies), "--megabytes", str(options.megabytes)]
    command += ["--timeout", str(options.timeout)]
    with subprocess.Popen(  # noqa: S603 - ours
        [*command, "--serve"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None  # noqa: S101 - a pipe was asked for
        assert server.stdin is not None  # noqa: S101 - likewise
        url = server.stdout.readline().strip()
        said = subprocess.run([*command, "--url", url], cwd=ROOT, stdout=subprocess.PIPE, check=True)  # noqa: S603 - ours
        server.stdin.close()
        server.wait(10)
    found: dict[str, Any] = json.loads(said.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=64)
    parser.add_argument("--megabytes", type=float, default=15.0)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds a call, waiting for room not included")
    parser.add_argument("--shape", action="append", choices=SHAPES, default=[])
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(_serve(options))
        return
    if options.url:
        asyncio.run(_ask(options))
        return
    print(f"{'shape':18}{'read':>10}{'peak MB':>9}{'seconds':>9}{'ledger MB':>11}")
    worst, lost = 0.0, 0
    for shape in options.shape or SHAPES:
        found = _measured(shape, options)
        worst, lost = max(worst, found["peak"]), lost + int(options.replies - found["read"])
        read = f"{found['read']} of {options.replies}"
        print(
            f"{shape:18}{read:>10}{found['peak']:>9.0f}{found['seconds']:>9.1f}{found['kept'] / 2**20:>11.1f}",
            flush=True,
        )
        for reason in found["why"]:
            print(f"    {reason}")
    print(verdict("MB resident at most", worst, _TARGET, at_least=False))
    print(verdict("well-formed verdicts not read", lost, 0, at_least=False))


if __name__ == "__main__":
    main()
