"""Random answers about a small group, drawn from a seed, and the result that is assembled from them as plain data.

Reasons and warnings are words of calipers; what is looked at is how many there are, and which of the drawn texts
(``r3``, say) each of them quotes.
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import Any

from calipers import Judge
from calipers.config.grouped_options import Reward
from calipers.config.settings import RecordedJudge
from calipers.judging.results import assemble_result, constant_result, unused_content_warnings, with_panel_parts
from calipers.testing import SimulatedJudge
from calipers.types import (
    Answered,
    Ask,
    Candidate,
    Comparison,
    Criterion,
    FailedCall,
    FailedCalls,
    Failure,
    GroupResult,
    Judgment,
    Rating,
    Reading,
    RenderedGroup,
    Rubric,
    Scores,
    Trajectory,
    TrajectoryGroup,
    Usage,
    Verdict,
)

_OURS = re.compile(r"\b[a-z]\d+\b|\b\d+\b|'\w+'")
_KINDS: tuple[Any, ...] = ("refused", "context_window", "server", "timeout", "deadline", "budget", "bad_reply")
_RUBRIC = Rubric((Criterion("c1", "Is so.", 2.0), Criterion("c2", "Is kind.", 1.0)))


def drawn(seed: int) -> Any:
    """The result for a seed, as JSON holds it."""
    rng = random.Random(f"result {seed}")
    group, view = _group(rng)
    n = len(view.candidates)
    if rng.random() < 0.1:
        return _written(
            constant_result(group, view, Reward(range=rng.choice(((0.0, 1.0), (-1.0, 3.0)))), warnings=["w1"])
        )
    answered = _answered(rng, n, graded=bool(view.rubrics))
    lost = rng.choice((0.0, 0.4, 1.0))
    values = tuple(None if rng.random() < lost else rng.choice((0.1, 0.5, 0.6, 0.9)) for _ in range(n))
    errors = tuple(None if one is None else rng.choice((None, 0.0, 0.1, 0.4)) for one in values)
    scores = Scores(values, errors)
    options: dict[str, Any] = rng.choice(({}, {"quorum": 2}, {"warnings": ["w1"]}))
    result = assemble_result(group, view, answered, scores=scores, rewards=scores.values, **options)
    if rng.random() < 0.5:
        result = with_panel_parts(result, answered, [RecordedJudge("e", f"m{slot}", f"j{slot}") for slot in range(2)])
    return [_written(result), *([_OURS.findall(one) for one in found] for found in _unused(rng, group))]


_JUDGES = [
    Judge(SimulatedJudge({}), rubric=rubric, protocol=protocol, question=question)
    for rubric, protocol, question in (
        ("r1", "listwise", {}), (None, "listwise", {}), (_RUBRIC, "checklist", {}),
    )
]  # fmt: skip


def _unused(rng: random.Random, group: TrajectoryGroup) -> list[tuple[str, ...]]:
    """The warnings of what the group brings, and the judge does not use."""
    keys = ("prompt", "question", "contxt", "context1", "n1", "k2", "rubrik", "task")
    ruled = Rubric((Criterion("c1", "Is so.", rule={"word_count": {"at_least": 2}}),))
    messages = [{"role": role, "content": "x"} for role in rng.choice((("assistant",), ("user",), ("assistant",) * 3,
                ("assistant", "assistant", "user"), ("assistant", "tool")))]  # fmt: skip
    members = tuple(
        replace(one, messages=tuple(messages), rubric=rng.choice((None, None, ruled))) for one in group.trajectories
    )
    other = replace(
        group, trajectories=members, extra={key: "c3" for key in keys if rng.random() < 0.2},
        rubric=rng.choice((None, None, "r1", "r2", _RUBRIC, ruled)),
        context=rng.choice(((), ({"role": "user", "content": "q"},))),
    )  # fmt: skip
    settings = rng.choice(_JUDGES).settings
    return [unused_content_warnings(other, settings)]


def _written(result: GroupResult) -> Any:
    whole = result.to_dict()
    whole["warnings"] = [_OURS.findall(one) for one in result.warnings]
    for one in whole["trajectories"]:
        one["reason"] = None if one["reason"] is None else _OURS.findall(one["reason"])
        one["explanation"] = None if one["explanation"] is None else _OURS.findall(one["explanation"])
        if "criteria" in one:
            criteria = one["criteria"].items()
            one["criteria"] = {name: {**said, "reason": _OURS.findall(said["reason"] or "")} for name, said in criteria}
    return whole


def _group(rng: random.Random) -> tuple[TrajectoryGroup, RenderedGroup]:
    n, twins = rng.randint(1, 4), rng.random() < 0.4
    members: list[tuple[int, ...]] = [(item,) for item in range(n)]
    if twins:
        members[0] = (0, n)
    trajectories = []
    for number in range(n + twins):
        metadata = rng.choice(({}, {}, {"k": 1}))
        extra = rng.choice(({}, {}, {"own": 2}, {"score": 3}))
        trajectories.append(
            Trajectory(
                f"t{number}", ({"role": "assistant", "content": "x"},), reward=rng.choice((None, 0.0, 1.0)),
                metadata=metadata, extra=extra,
            )
        )  # fmt: skip
    group = TrajectoryGroup("g", tuple(trajectories), extra=rng.choice(({}, {"note": 1})))
    rubrics = rng.choice(((), (), (_RUBRIC,) * n, (None, *(_RUBRIC,) * (n - 1))))
    checked = tuple(
        {"c2": Verdict(rng.choice((True, False, None)), "r99")} if rng.random() < 0.5 else {} for _ in members
    )
    view = RenderedGroup(
        group_id="g", ids=tuple(one.id for one in trajectories), digest="0" * 32, marker="@q7x", head=(),
        candidates=tuple(Candidate(one, (), ("x",)) for one in members), warnings=rng.choice(((), ("w7",))),
        rubrics=rubrics, rule_verdicts=checked if rubrics and rng.random() < 0.5 else (),
    )  # fmt: skip
    return group, view


def _answered(rng: random.Random, n: int, *, graded: bool) -> list[Answered]:
    found: list[Answered] = []
    for number in range(rng.choice((0, 1, 2, 3, 4))):
        members = tuple(sorted(rng.sample(range(n), n if rng.random() < 0.6 else rng.randint(1, n))))
        parent = rng.choice((None, None, number - 1)) if number else None
        ask = Ask(
            number, members, members, slot=rng.randrange(2), parent=parent,
            cause="first" if parent is None else "missing",
            criteria=("c1", "c2") if graded else (),
        )  # fmt: skip
        calls = [
            FailedCall("server", rng.choice((None, Usage(), Usage(7, 1, 0, 0.5))))
            for _ in range(rng.choice((0, 0, 1, 2)))
        ]
        result = _failure(rng, number) if rng.random() < 0.3 else _reading(rng, ask, graded=graded)
        usage = None if isinstance(result, Failure) else Usage(10, 2, 1, rng.choice((None, 0.25)))
        omitted = {item: f"o{number}" for item in members if rng.random() < 0.1}
        question = rng.choice(("", "", "q1"))
        found.append(Answered(ask, result, usage, FailedCalls.of(calls), question, omitted))
    return found


def _failure(rng: random.Random, number: int) -> Failure:
    return Failure(rng.choice(_KINDS), f"f{number}")


def _reading(rng: random.Random, ask: Ask, *, graded: bool) -> Reading:
    judgments: list[Judgment] = []
    missing: dict[int, str] = {}
    pairs = len(ask.members) > 1 and not graded and rng.random() < 0.3
    if pairs:
        judgments.append(Comparison(ask.members[0], ask.members[1], 0.5, ask.number, ask.slot))
    for item in ask.members:
        if rng.random() < 0.3:
            missing[item] = f"m{item}"
        elif graded:
            for name in ("c1", "c2"):
                met = rng.choice((True, False, None))
                judgments.append(Verdict(met, f"v{item}", item, name, ask.number, ask.slot))
        elif not pairs:
            judgments.append(Rating(item, 0.5, ask.number, slot=ask.slot))
    told = {item: f"e{ask.number}" for item in ask.members if rng.random() < 0.5}
    reading = Reading(
        tuple(judgments), "partial" if missing else "strict", reason=rng.choice((None, f"r{ask.number}")),
        missing=missing, explanations=told, warnings=rng.choice(((), (), ("w2",), ("w3", "w2"))),
    )  # fmt: skip
    return replace(reading, judgments=()) if rng.random() < 0.1 else reading
