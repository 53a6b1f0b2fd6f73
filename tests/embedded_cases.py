"""Groups to put before the embedded judge, and what it says of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from hypothesis import strategies as st

from calipers.backends.embedded import Embedded
from calipers.backends.features import FEATURES, measure_features
from calipers.types import Ask, Candidate, JudgeRequest, Message, RenderedGroup

TASK: Message = {"role": "user", "content": "Which warehouse holds order 4711, and when does the parcel leave?"}


def said(text: str) -> list[Message]:
    return [{"role": "assistant", "content": text}]


def called(name: str, result: str, *, number: int = 0, arguments: str = "{}", is_error: bool = False) -> list[Message]:
    """A call and its result."""
    call = {"id": f"call{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
    outcome = {"role": "tool", "tool_call_id": f"call{number}", "content": result} | (
        {"is_error": True} if is_error else {}
    )
    return [{"role": "assistant", "content": None, "tool_calls": [call]}, outcome]


def view(
    members: Sequence[Sequence[Message]], *, context: Sequence[Message] = (TASK,), copies: Sequence[int] | None = None
) -> RenderedGroup:
    counts = list(copies or [1] * len(members))
    starts = [sum(counts[:i]) for i in range(len(counts))]
    candidates = tuple(
        Candidate(tuple(range(start, start + count)), (*context, *own), ("",))
        for start, count, own in zip(starts, counts, members, strict=True)
    )
    ids = tuple(f"t{i}" for i in range(sum(counts)))
    return RenderedGroup("g", ids, "00", "|", (), candidates, prefix_length=len(context))


def request(
    group: RenderedGroup, *, order: Sequence[int] | None = None, keys: Sequence[str] | None = None
) -> JudgeRequest:
    places = tuple(range(len(group.candidates))) if order is None else tuple(order)
    names = tuple(keys) if keys is not None else tuple(f"K{place}" for place in places)
    return JudgeRequest((), names, Ask(0, places, places), group)


def feature(name: str, *members: Sequence[Message], context: Sequence[Message] = (TASK,)) -> list[float]:
    """One feature of every member of a group."""
    column = FEATURES.index(name)
    rows = measure_features([(*context, *own) for own in members], prefix_length=len(context))
    return [row.values[column] for row in rows]


def opinions(members: Sequence[Sequence[Message]], *, context: Sequence[Message] = (TASK,)) -> list[tuple[int, str]]:
    """Score and explanation of every member, read from the reply's text."""
    asked = request(view(members, context=context))
    reply = json.loads(asyncio.run(Embedded().complete(asked)).text)
    return [(int(reply["scores"][key].removesuffix("/100")), reply["explanations"][key]) for key in asked.keys]


words = st.sampled_from(
    ["order", "4711", "warehouse", "Oslo", "leaves", "Monday", "done", "3*4=13", "12.50", "订单", "仓库", "\n", "."]
)
texts = st.lists(words, max_size=30).map(" ".join) | st.text(max_size=40)
calls = st.builds(
    called,
    st.sampled_from(["get_order", "book", "search"]),
    st.sampled_from(["Error: no such order", '{"total": 1204}', "ok", ""]),
    number=st.integers(0, 3),
    arguments=st.sampled_from(["{}", '{"a": 1}', '{"a":1}', "not json"]),
    is_error=st.booleans(),
)
turns = st.one_of(calls, texts.map(said), texts.map(lambda text: [{"role": "user", "content": text}]))
members = st.lists(turns, max_size=6).map(lambda parts: [message for part in parts for message in part])
groups = st.lists(members, min_size=1, max_size=5)
