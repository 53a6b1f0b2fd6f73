"""Replies, whole and damaged, are read as the golden file says: what changes a reading shows there."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import golden
import reply_damage
import reply_shapes
import reply_zoo as zoo
import takeback_cases
from calipers.replies import extract_checklist, extract_choice, extract_ranking, extract_scores, extract_verdict

FIXTURES = Path(__file__).parents[1] / "fixtures"
SIZE = 24
"""Whole replies in a section: a test."""

How = dict[str, Any]
"""Which reader reads a reply, and what it is given besides."""
Case = tuple[str, How]


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FIXTURES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def read(text: str, how: How) -> Any:
    """Everything that a reading holds but its wording."""
    given = {key: value for key, value in how.items() if key != "reader"}
    match how["reader"]:
        case "scores":
            found = extract_scores(text, **given)
            numbers = {id_: round(score, 6) for id_, score in found.scores.items()}
            return [
                found.outcome,
                numbers,
                *(flag for flag in ("doubt", "truncated", "adjusted") if getattr(found, flag)),
            ]
        case "choice":
            chosen = extract_choice(text, **given)
            return [chosen.outcome, chosen.choice, chosen.margin]
        case "ranking":
            ranked = extract_ranking(text, **given)
            return [ranked.outcome, *ranked.ranking, "dropped", *ranked.dropped]
        case "verdict":
            told = extract_verdict(text, **given)
            return [told.outcome, told.met]
        case _:
            listed = extract_checklist(text, **given)
            flags = [flag for flag in ("doubt", "truncated") if getattr(listed, flag)]
            return [listed.outcome, listed.verdicts, sorted(listed.undecided), listed.reasons, listed.quotes, *flags]


def scores(ids: Any, scale: Any = None, **options: Any) -> How:
    return {"reader": "scores", "ids": list(ids), "scale": None if scale is None else list(scale), **options}


def choice(labels: Any, **options: Any) -> How:
    return {"reader": "choice", "labels": list(labels), **options}


def ranking(ids: Any, **options: Any) -> How:
    return {"reader": "ranking", "ids": list(ids), **options}


def verdict(**options: Any) -> How:
    return {"reader": "verdict", **options}


def checklist(ids: Any, **options: Any) -> How:
    return {"reader": "checklist", "ids": list(ids), **options}


def in_formats() -> list[Case]:
    readers: dict[str, Callable[[dict[str, Any]], How]] = {
        "choice": lambda row: choice(row["labels"], format=row["format"]),
        "scores": lambda row: scores(row["ids"], row["scale"], format=row["format"]),
        "verdict": lambda row: verdict(format=row["format"]),
        "ranking": lambda row: ranking(row["ids"], format=row["format"]),
    }
    return [(row["text"], readers[row["reader"]](row)) for row in rows("formats")]


def in_zoo() -> list[Case]:
    sections = (zoo.JSON, zoo.MORE, zoo.VALUES, zoo.SEVERAL, zoo.CUT, zoo.PROSE, zoo.TAILS, zoo.BEFORE, zoo.ATTACKS)
    plain = [(text, scores(("1", "2", "3"))) for section in sections for _, text, _ in section]
    return plain + [(text, scores(ids, scale)) for _, text, _, ids, scale in zoo.OTHER]


def taken_back() -> list[Case]:
    cases = random.Random("taken back").sample(list(takeback_cases.cases()), 720)
    readers: dict[str, Callable[[takeback_cases.Case], How]] = {
        "scores": lambda case: scores(case.ids, case.scale),
        "verdict": lambda _: verdict(),
        "ranking": lambda case: ranking(case.ids),
    }
    return [(case.text, readers[case.reader](case)) for case in cases]


def in_checklists() -> list[Case]:
    ids = ("1", "2", "3")
    levels = {"2": {"in part": 0.5, "mostly": 0.8}}
    words = (
        True,
        False,
        "PRESENT",
        "NOT_PRESENT",
        "yes",
        "no",
        "met",
        "unmet",
        "partly",
        "unknown",
        1,
        0,
        None,
        "in part",
    )
    found: list[Case] = []
    for number in range(96):
        rng = random.Random(number)
        said = {id_: rng.choice(words) for id_ in ids}
        rich = {id_: {"reason": f"because of {id_}", "met": one, "quote": "it says so"} for id_, one in said.items()}
        listed = [{"id": id_, "verdict": one} for id_, one in said.items()]
        lines = "\n".join(f"{id_}. {one}" for id_, one in said.items())
        worded = "\n".join(f"Criterion {id_}: {one} - because of {id_}" for id_, one in said.items())
        text = rng.choice(
            (json.dumps(said), json.dumps(rich), json.dumps(listed), json.dumps([*said.values()]), lines, worded)
        )
        found.append((text, checklist(ids, levels=levels if number % 2 else None)))
    return found


def in_shapes() -> list[Case]:
    drawn = [shape.draw(half) for half, shapes in reply_shapes.HALVES.items() for shape in shapes]
    return [(case.text, scores(case.ids, case.scale, finish_reason="stop")) for case in drawn]


def in_damage() -> list[Case]:
    samples = [reply_damage.damaged(seed, reply_damage.TUNED + reply_damage.UNSEEN, most=4) for seed in range(240)]
    return [(one.text, scores(one.ids, one.scale, finish_reason="length" if one.cut else "stop")) for one in samples]


def off_the_scale() -> list[Case]:
    rules = ("reask", "rescale", "rank", "clamp")
    texts = [json.dumps(dict(zip("123", numbers, strict=True))) for numbers in OFF]
    return [
        (f"{text}{' ' * place}", scores(("1", "2", "3"), out_of_range=rule))
        for text in texts
        for place, rule in enumerate(rules)
    ]


OFF = (
    (7, 10, 15),
    (0.5, 5, 9),
    (90, 40, 10),
    (-1, 0, 1),
    (1, 2, 5),
    (101, 50, 0),
    (0, 0, 0),
    (1e9, 1, 0.5),
    (3, 3, 4),
    (0.2, 1.0, 1.1),
)
CORPORA: dict[str, tuple[Callable[[], list[Case]], int]] = {
    "zoo": (in_zoo, 4),
    "shapes": (in_shapes, 3),
    "damage": (in_damage, 1),
    "taken back": (taken_back, 1),
    "formats": (in_formats, 3),
    "off the scale": (off_the_scale, 2),
    "checklists": (in_checklists, 4),
    "replies": (lambda: [(row["text"], scores(row["ids"])) for row in rows("replies")], 6),
    "choices": (lambda: [(row["text"], choice(row["labels"], tie=row["tie"])) for row in rows("choices")], 6),
    "doubts": (lambda: [(row["text"], choice(("A", "B"), tie="C")) for row in rows("choice_doubts")], 2),
    "rankings": (lambda: [(row["text"], ranking(row["ids"])) for row in rows("rankings")], 8),
    "verdicts": (lambda: [(row["text"], verdict()) for row in rows("verdicts")], 6),
}
"""Whole replies, and how many damaged ones are made of each."""


def sections() -> list[tuple[str, int]]:
    return [(name, start) for name, (cases, _) in CORPORA.items() for start in range(0, len(cases()), SIZE)]


@pytest.mark.parametrize(("name", "start"), sections())
def test_replies_are_read_as_ever(name: str, start: int) -> None:
    cases, count = CORPORA[name]
    found = {}
    for whole, how in cases()[start : start + SIZE]:
        for text in golden.damaged(whole, count):
            found[f"{json.dumps(how)} {text}"] = read(text, how)
    golden.check("readings", found)
