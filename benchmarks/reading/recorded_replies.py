"""How many recorded replies the readers get exact, miss, or get wrong: one line per data set, and pooled.

Run ``python -m benchmarks.reading.recorded_replies [-v]`` with the recorded data beside the repository or at
CALIPERS_DATA. The replies come from princeton-nlp/LLMBar, castorini/rank_llm, Slimshilin/Position-Bias-Analyzer,
sierra-research/tau2-bench and ehsk/OpenQA-eval; ``-v`` prints every reply that is not exact. *Readable* are those with
an expected answer.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from benchmarks.environment import recorded_data
from calipers.replies.compare.choice import extract_choice
from calipers.replies.compare.ranking import extract_ranking
from calipers.replies.criteria.verdict import extract_verdict
from calipers.replies.scores.scores import extract_scores

SETS = ("llmbar", "rankllm_listwise", "posbias_repeat", "tau2_airline", "openqa301")
MET = frozenset({"yes", "pass", "compliant", "satisfied", "correct", "satisfactory", "met"})

Grade = Literal["exact", "missed", "wrong"]


def replies(folder: Path) -> Iterator[dict[str, Any]]:
    """The recorded replies of one data set."""
    with gzip.open(folder / "replies.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def read(row: dict[str, Any]) -> tuple[Any, Any, str | None]:
    """What was expected of a row, what was read, and the reader's reason."""
    expected, text = row["expected"], row["raw_text"]
    if "ranking" in expected:
        order = extract_ranking(text, range(1, expected["n"] + 1))
        return expected["ranking"], list(order.ranking) or None, order.reason
    if "winner" in expected:
        labels = [label for label in row["labels"] if "=" not in label]
        tie = next((label.split("=")[0] for label in row["labels"] if "=tie" in label), None)
        choice = extract_choice(text, labels, tie=tie)
        winner = expected["winner"]
        winner = labels[winner - 1] if isinstance(winner, int) else "tie" if tie and winner == tie else winner
        return winner, choice.choice, choice.reason
    if "score" in expected:
        scored = extract_scores(text, ids=["1"], scale=(0, 10))
        return expected["score"], scored.scores.get("1"), scored.reason
    verdict = expected["json"]["verdict"] if "json" in expected else expected["verdict"]
    found = extract_verdict(text)
    return None if verdict is None else verdict in MET, found.met, found.reason


def grade(expected: Any, found: Any) -> Grade:
    """Exact, missed (nothing read though something was there), or wrong (anything else)."""
    if found == expected:
        return "exact"
    return "missed" if found is None else "wrong"


def main() -> None:
    if not recorded_data().is_dir():
        print(f"no recorded data at {recorded_data()}: set CALIPERS_DATA to where it is")
        return
    pooled: Counter[str] = Counter()
    print(f"{'data set':20}{'replies':>8}{'readable':>9}{'exact':>7}{'missed':>8}{'WRONG':>7}  missed of readable")
    for name in SETS:
        counts: Counter[str] = Counter()
        for row in replies(recorded_data() / name):
            expected, found, reason = read(row)
            counts["replies"] += 1
            counts["readable"] += expected is not None
            counts[grade(expected, found)] += 1
            if "-v" in sys.argv and grade(expected, found) != "exact":
                print(f"  {row['id']} {row['judge']}: expected {expected!r}, read {found!r} ({reason})")
        pooled += counts
        show(name, counts)
    show("pooled", pooled)


def show(name: str, counts: Counter[str]) -> None:
    numbers = (counts[key] for key in ("replies", "readable", "exact", "missed", "wrong"))
    columns = "{:>8}{:>9}{:>7}{:>8}{:>7}".format(*numbers)
    print(f"{name:20}{columns}  {counts['missed'] / max(1, counts['readable']):.1%}")


if __name__ == "__main__":
    main()
