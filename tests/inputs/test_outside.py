"""Whatever a file holds where a number or an object is expected, it is read, and then scored and replayed, or refused
in words.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calipers.calibration.records import as_records
from calipers.errors import CalipersError, InputError
from calipers.inputs import as_group, read_groups, read_rubric
from calipers.inputs.plain import MAX_DEPTH
from calipers.judging.judge import Judge, replaying_judge
from calipers.ledger import Ledger, Replayer
from calipers.types import Trajectory, TrajectoryGroup
from inputs.written import call, calling, result
from outside import as_json, mutants

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aaaa", "detail": "low"}}
ROW = {
    "group_id": "g",
    "context": [{"role": "user", "content": "q"}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"a": {"type": "number"}}}}}],
    "rubric": {"criteria": [{"id": "c", "text": "t", "points": 1, "tags": ["x"]}]},
    "constraints": {"checkers": ["[llm] a"], "functions": [""]},
    "trajectories": [
        {
            "id": "a",
            "messages": [
                calling(call("1", "f", '{"a": 1}'), content=[{"type": "text", "text": "hi"}, IMAGE]),
                result("ok", "1", structuredContent={"a": 1}),
            ],
            "reward": 1,
            "gold": 1,
            "metadata": {"m": 1},
            "more": {"z": 1},
        },
        {"id": "b", "messages": [{"role": "assistant", "content": "no", "reasoning_content": "r"}]},
    ],
}


async def test_a_row_of_anything_is_scored_and_replayed_or_refused(tmp_path: Path) -> None:
    rows = [
        {**row, "group_id": f"g{number}"} if isinstance(row, dict) and row.get("group_id") == "g" else row
        for number, row in enumerate(mutants(ROW))
    ]
    (tmp_path / "groups.jsonl").write_bytes(b"".join(as_json(row) + b"\n" for row in rows))
    refused: list[InputError] = []
    groups = list(read_groups(tmp_path / "groups.jsonl", on_error=refused.append))
    for group in groups:
        assert as_group(group) == group
        assert len({member.id for member in group.trajectories}) == len(group.trajectories) > 0
    judge = Judge("embedded", ledger=tmp_path / "runs.db")
    results = [result.to_dict() async for result in judge.score_groups(groups, ordered=True)]
    judge.close()
    assert len(results) > 1000
    assert len(refused) > 1000
    assert all(str(error) and error.line for error in refused)
    ledger = Ledger(tmp_path / "runs.db", create=False)
    store = Replayer(ledger, None)
    again = replaying_judge(store.settings(), store)
    replayed = [result.to_dict() async for result in again.score_groups(store.groups(), ordered=True)]
    ledger.close()
    for one, other in zip(replayed, results, strict=True):
        assert json.dumps(one) == json.dumps(other)


async def test_objects_of_a_caller_nest_so_deep_and_no_deeper() -> None:
    for deep in (MAX_DEPTH - 5, MAX_DEPTH + 5, 20_000):
        value: Any = 1
        for _ in range(deep):
            value = {"a": value}
        function = {"type": "function", "function": {"name": "f", "parameters": value}}
        say = [({"role": "assistant", "content": text},) for text in "xy"]
        one, other = (Trajectory(text, said) for text, said in zip("ab", say, strict=True))
        thing = ({"role": "assistant", "content": [{"type": "thing", "thing": value}]},)
        groups = [
            TrajectoryGroup("g", (replace(one, metadata={"m": value}), other)),
            TrajectoryGroup("g", (replace(one, extra={"m": value}), other)),
            TrajectoryGroup("g", (replace(one, messages=thing), other)),
            TrajectoryGroup("g", (one, other), tools=(function,)),
            TrajectoryGroup("g", (one, other), extra={"m": value}),
        ]
        for group in groups:
            if deep < MAX_DEPTH:
                assert (await Judge("embedded").score_group(group)).status == "scored"
                continue
            with pytest.raises(InputError, match="nested"):
                await Judge("embedded").score_group(group)


JUDGMENT = {
    "group_id": "g",
    "judge": "j",
    "mode": "listwise",
    "order": ["a", "b"],
    "raw_text": "x",
    "parsed": {"scores": {"a": 1, "b": 2}},
    "sample_index": 0,
    "scale": [0, 1],
    "temperature": 0.5,
    "usage": {"input_tokens": 1, "output_tokens": 1, "cost_usd": 0.1},
}


def test_a_judgment_of_anything_is_read_or_refused(tmp_path: Path) -> None:
    for sample in (JUDGMENT, {**JUDGMENT, "mode": "pairwise", "parsed": {"winner": "a", "margin": 1}}):
        (tmp_path / "said.jsonl").write_bytes(b"".join(as_json(row) + b"\n" for row in mutants(sample)))
        refused: list[InputError] = []
        assert list(as_records(tmp_path / "said.jsonl", on_error=refused.append))
        assert all(str(error) for error in refused)


def test_a_rubric_of_anything_is_read_or_refused(tmp_path: Path) -> None:
    criteria = [{"id": "c", "text": "t", "points": 1}, {"text": "u", "veto": True, "rule": {"f": {}}}]
    for rubric in mutants({"title": "r", "criteria": criteria}):
        (tmp_path / "rubric.json").write_bytes(as_json(rubric))
        try:
            read_rubric(tmp_path / "rubric.json")
        except CalipersError as error:
            assert str(error)  # noqa: PT017 - either is right
