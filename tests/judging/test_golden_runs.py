"""What earlier versions asked, and the scores they gave: the same, or recorded runs would not replay.

``python tests/judging/test_golden_runs.py`` (with ``tests`` on the path) writes the file anew, where a change is meant.
"""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest

from calipers import Judge
from calipers.testing import Flaky, Noise, PositionBias, SimulatedJudge
from calipers.types import Ask, Completion, JudgeRequest
from groups import group_of

GOLDEN = Path(__file__).parents[1] / "fixtures" / "golden_runs.jsonl"
FLAKY = Flaky(missing_ids=0.2, unknown_ids=0.05, malformed=0.05, truncated=0.1, refused=0.05, timeout=0.1)
LISTS: list[dict[str, Any]] = [{}, {"orders": 2}, {"orders": 3, "samples": 2}, {"orders": 7}, {"samples": 3, "seed": 5}]
PAIRS: list[dict[str, Any]] = [{}, {"orders": 2}, {"samples": 3}, {"orders": 2, "samples": 2, "seed": 5}]
PANELS: list[dict[str, Any]] = [
    {"panel": "all"},
    {"panel": "all", "quorum": 2, "orders": 2},
    {"panel": "cycle", "orders": 3},
    {"panel": "cycle", "samples": 2},
    {"panel": "fallback"},
    {"panel": "fallback", "orders": 2},
]
SCENARIOS: list[tuple[int, int, dict[str, Any]]] = [
    *((1, n, {"protocol": "listwise", **options}) for n in (2, 3, 6) for options in LISTS),
    *((1, n, {"protocol": "listwise", "at_once": 4, **options}) for n in (4, 5, 9) for options in LISTS),
    *((1, n, {"protocol": "pairwise", **options}) for n in (2, 3, 6) for options in PAIRS),
    *((1, n, {"protocol": "pointwise", "samples": samples}) for n in (2, 4) for samples in (1, 3)),
    *((3, 4, {"protocol": name, **one}) for name in ("pairwise", "pointwise") for one in (PANELS[0], *PANELS[3:5])),
    *((3, 5, {"protocol": "listwise", **options}) for options in PANELS),
    *((1, 5, {"protocol": name, "resolve": True, "orders": 2}) for name in ("listwise", "pairwise")),
    *((1, 5, {"protocol": "listwise", "canaries": "always", "orders": orders}) for orders in (1, 2)),
]


class Recorded:
    """A judge whose every question is noted before ``inner`` answers it."""

    def __init__(self, inner: SimulatedJudge, asks: list[Ask]) -> None:
        self.endpoint, self.model = inner.endpoint, inner.model
        self._inner, self._asks = inner, asks

    async def complete(self, request: JudgeRequest) -> Completion:
        self._asks.append(request.ask)
        return await self._inner.complete(request)


async def run(judges: int, candidates: int, options: dict[str, Any], *, flaky: bool) -> dict[str, Any]:
    """All asks of a run over two groups, and what came of it."""
    generator = random.Random(f"{candidates}")
    quality = {f"t{number}": round(generator.random(), 2) for number in range(candidates)}
    faults = [FLAKY] * flaky
    asks: list[Ask] = []
    panel = [
        Recorded(SimulatedJudge(quality, Noise(0.05), PositionBias(0.1), *faults, seed=seed, model=f"m{seed}"), asks)
        for seed in range(judges)
    ]
    judge = Judge.of({"judge": panel if judges > 1 else panel[0], "attempts": 1, **options})
    results = []
    for number in range(2):
        answers = {name: f"answer {place}" for place, name in enumerate(quality)}
        result = await judge.score_group(group_of(answers, group_id=f"g{number}", question=f"question {number}"))
        results.append({
            "asks": [written(ask) for ask in sorted(asks, key=lambda ask: ask.number)],
            "status": [result.status, *(one.status for one in result.trajectories)],
            "scores": [one.score for one in result.trajectories],
            "stderrs": [one.stderr for one in result.trajectories],
            "rewards": result.rewards,
        })  # fmt: skip
        asks.clear()
    return {"judges": judges, "candidates": candidates, "options": options, "flaky": flaky, "groups": results}


def written(ask: Ask) -> str:
    """Everything about an ask but its wording."""
    anchors = [f"{item}={value}" for item, value in ask.anchors]
    order = "".join(str(item) for item in ask.order)
    members = "".join(str(item) for item in ask.members)
    about = [ask.cause, ask.slot, members, order, ask.sample, ask.presentation, ask.parent, ask.max_tokens_factor]
    return " ".join(str(one) for one in (ask.number, *about, *anchors))


def test_a_run_asks_and_scores_as_it_always_did() -> None:
    known = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]
    found = asyncio.run(written_anew())
    assert [one | {"groups": None} for one in found] == [one | {"groups": None} for one in known]
    differ = [
        f"{one['judges']} judges, {one['candidates']} candidates, {one['options']}: {key} is {got[key]}, was {value}"
        for one, now in zip(known, found, strict=True)
        for group, got in zip(one["groups"], now["groups"], strict=True)
        for key, value in group.items()
        if (got[key] != pytest.approx(value, abs=2e-6) if key in _NUMBERS else got[key] != value)
    ]
    assert not differ, f"{len(differ)} differ:\n" + "\n".join(differ[:5])


_NUMBERS = frozenset({"scores", "stderrs", "rewards"})


async def written_anew() -> list[dict[str, Any]]:
    return [
        await run(judges, count, options, flaky=flaky)
        for judges, count, options in SCENARIOS
        for flaky in (False, True)
    ]


if __name__ == "__main__":
    rows = asyncio.run(written_anew())
    GOLDEN.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
