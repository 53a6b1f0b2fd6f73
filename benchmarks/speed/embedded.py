"""How long the embedded judge takes: python -m benchmarks.speed.embedded (agreement: scripts/fit_embedded.py)."""

from __future__ import annotations

import asyncio
import json
import statistics
import time

from calipers.backends.embedded import Embedded
from calipers.types import Ask, Candidate, JudgeRequest, Message, RenderedGroup

WORDS = "the report lists every order that was refunded in March, with its total of 1,204 euros and the reason given; "


def request_for(context: list[Message], members: list[list[Message]]) -> JudgeRequest:
    candidates = tuple(Candidate((i,), (*context, *own), ("",)) for i, own in enumerate(members))
    ids = tuple(f"c{i}" for i in range(len(members)))
    view = RenderedGroup("g", ids, "00", "|", (), candidates, prefix_length=len(context))
    order = tuple(range(len(members)))
    return JudgeRequest((), ids, Ask(0, order, order), view)


def prose(size: int, i: int) -> str:
    text = f"In case {i}, " + WORDS * (size // len(WORDS) + 1)
    return " ".join(word if (k * (i + 3)) % 7 else f"{word}{k}" for k, word in enumerate(text.split()))[:size]


def agent(turns: int, i: int) -> list[Message]:
    messages: list[Message] = [{"role": "user", "content": "Please change my booking QX81 to 12 May, economy."}]
    for k in range(turns // 4):
        call = {"id": f"t{k}", "function": {"name": "get_order", "arguments": json.dumps({"order": f"QX{k + i}"})}}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"t{k}", "content": json.dumps({"order": k, "text": prose(600, i)})},
            {"role": "assistant", "content": prose(300, k + i)},
            {"role": "user", "content": "Yes, go on."},
        ]
    return [*messages, {"role": "assistant", "content": "It is done: 12 May, 1,204 euros."}]


def median_ms(request: JudgeRequest, rounds: int = 60) -> float:
    async def once() -> float:
        judge = Embedded()  # a fresh one: nothing remembered
        start = time.perf_counter()
        await judge.complete(request)
        return 1e3 * (time.perf_counter() - start)

    async def run() -> list[float]:
        return [await once() for _ in range(rounds)]

    return statistics.median(asyncio.run(run()))


def main() -> None:
    question: list[Message] = [
        {"role": "user", "content": "List the orders refunded in March with totals and reasons."}
    ]
    policy: list[Message] = [{"role": "system", "content": prose(9000, 1)}]
    hostile: list[Message] = [{"role": "assistant", "content": "1+" * 500_000}]
    rows = {
        "4 x 2 kB answers": request_for(
            question, [[{"role": "assistant", "content": prose(2000, i)}] for i in range(4)]
        ),
        "4 x 40 agent messages": request_for(policy, [agent(40, i) for i in range(4)]),
        "4 x 1 MB hostile": request_for(question, [hostile] * 4),
    }
    for name, request in rows.items():
        print(f"{name:24} {median_ms(request):8.2f} ms")


if __name__ == "__main__":
    main()
