"""On recorded replies of real judges nothing is read wrong, and little is missed."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from calipers.replies.compare.choice import extract_choice
from calipers.replies.compare.ranking import extract_ranking
from calipers.replies.criteria.verdict import extract_verdict
from calipers.replies.scores.scores import extract_scores

DATA = Path(os.environ.get("CALIPERS_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
SETS = ("llmbar", "rankllm_listwise", "posbias_repeat", "tau2_airline", "openqa301")
MET = {"yes", "pass", "compliant", "satisfied", "correct", "satisfactory", "met"}

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not DATA.is_dir(), reason=f"no recorded data at {DATA}; set CALIPERS_DATA to read it elsewhere"),
]


def lines(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def readings(name: str) -> list[tuple[Any, Any, str]]:
    """Expected, read, and the reply's id."""
    found: list[tuple[Any, Any, str]] = []
    for row in lines(f"{name}/replies.jsonl.gz"):
        expected, text = row["expected"], row["raw_text"]
        if "ranking" in expected:
            ranking = extract_ranking(text, range(1, expected["n"] + 1)).ranking
            found.append((expected["ranking"], list(ranking) or None, row["id"]))
        elif "winner" in expected:
            labels = [label for label in row["labels"] if "=" not in label]
            tie = next((label.removesuffix("=tie") for label in row["labels"] if label.endswith("=tie")), None)
            winner = expected["winner"]
            named = labels[winner - 1] if isinstance(winner, int) else "tie" if tie and winner == tie else winner
            found.append((named, extract_choice(text, labels, tie=tie).choice, row["id"]))
        elif "score" in expected:
            found.append((expected["score"], extract_scores(text, ids=["1"], scale=(0, 10)).scores.get("1"), row["id"]))
        else:
            verdict = expected["json"]["verdict"] if "json" in expected else expected["verdict"]
            found.append((None if verdict is None else verdict in MET, extract_verdict(text).met, row["id"]))
    return found


def test_nothing_is_wrong_and_at_most_three_in_a_hundred_readable_replies_are_missed() -> None:
    pooled = [reading for name in SETS for reading in readings(name)]
    wrong = [(key, expected, found) for expected, found, key in pooled if found not in (expected, None)]
    missed = [key for expected, found, key in pooled if found is None and expected is not None]
    readable = sum(expected is not None for expected, _, _ in pooled)
    assert wrong == []
    assert len(missed) <= 0.03 * readable, missed


def test_long_verdicts_in_prose_agree_with_what_the_publisher_read() -> None:
    """LLMBar's judges reason at length; their published parse is right but for a handful that a person would
    dispute.
    """
    grades: Counter[str] = Counter()
    for row in lines("llmbar/judgments.jsonl.gz")[::5]:
        if row["mode"] != "pairwise" or not row["raw_text"]:
            continue
        winner = row["parsed"]["winner"]
        expected = None if winner is None else "ab"[row["order"].index(winner)]
        found = extract_choice(row["raw_text"], ["a", "b"]).choice
        grades["exact" if found == expected else "missed" if found is None else "other"] += 1
    total = sum(grades.values())
    assert total > 3000
    assert grades["other"] <= 0.001 * total
    assert grades["missed"] <= 0.001 * total


def test_yes_and_no_agree_with_what_the_publisher_read() -> None:
    rows = [row for row in lines("openqa301/judgments.jsonl.gz") if row["raw_text"]]
    read = [(extract_verdict(row["raw_text"]).met, next(iter(row["parsed"]["scores"].values()))) for row in rows]
    differing = [pair for pair in read if pair[0] is not None and pair[1] is not None and pair[0] != (pair[1] == 1)]
    assert len(read) > 1400
    assert differing == []
    assert sum(met is None for met, _ in read) <= 0.01 * len(read)
