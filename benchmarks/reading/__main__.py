"""How replies are read: exact, asked again, abstained, wrong, and what it costs. ``python -m benchmarks.reading [-v]``.

The project's recorded replies; recorded choices, rankings and verdicts of real judges (recorded data); the zoo of real
and hostile replies; verdicts that are taken back, quoted or void; random damages and every cut of whole verdicts; time
on texts meant to hurt. ``-v`` prints every reply that is read wrongly.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import reply_damage as damage
import reply_zoo as zoo
import takeback_cases as takebacks
from benchmarks.environment import ROOT, recorded_data
from calipers.replies import ScoreReading, extract_choice, extract_ranking, extract_scores, extract_verdict

SETS = ("llmbar", "rankllm_listwise", "posbias_repeat", "tau2_airline", "openqa301")
MET = frozenset({"yes", "pass", "compliant", "satisfied", "correct", "satisfactory", "met"})
REASKS = 2
"""How often a judge asks again at most."""

Row = tuple[str, tuple[str, ...], tuple[float, float], dict[str, float]]


def main() -> None:
    recorded = list(_recorded())
    scores("recorded replies", recorded)
    costs("the same, by a judge that repeats its form", recorded)
    scores("zoo of real and hostile replies", zoo.replies())
    if recorded_data().is_dir():
        chosen()
    else:
        print(f"no recorded data at {recorded_data()}: set CALIPERS_DATA to where it is")
    taken_back()
    for name, damages in (("damages written against", damage.TUNED), ("damages not written against", damage.UNSEEN)):
        scores(f"{name} (3,000)", _damaged(damages))
    cuts()
    times()


def _recorded() -> Iterator[Row]:
    for line in (ROOT / "tests/fixtures/replies.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield row["text"], tuple(row["ids"]), (0, 1), row["expected"] or {}


def _damaged(damages: tuple[damage.Damage, ...]) -> Iterator[Row]:
    for seed in range(3_000):
        sample = damage.damaged(1_000_000 + seed, damages)
        yield sample.text, sample.ids, sample.scale, sample.truth


def grade(reading: ScoreReading, expected: dict[str, float]) -> str:
    """How a reading compares with what a careful reader takes: exact, in part, asked again, WRONG, rightly none."""
    if any(id_ not in expected or abs(expected[id_] - score) > 1e-9 for id_, score in reading.scores.items()):
        return "WRONG"
    if not expected:
        return "rightly none"
    if reading.scores.keys() == expected.keys():
        return "exact"
    return "in part" if reading.scores else "asked again"


def scores(name: str, rows: Iterable[Row]) -> None:
    """Print how scores are read from replies."""
    counts: Counter[str] = Counter()
    for text, ids, scale, expected in rows:
        graded = grade(extract_scores(text, ids, scale=scale), expected)
        counts[graded] += 1
        if "-v" in sys.argv and graded == "WRONG":
            print(f"  {text!r}")
    readable = counts.total() - counts["rightly none"]
    print(
        f"{name:44} {counts.total():6} replies, {readable} readable: exact {counts['exact']}, in part "
        f"{counts['in part']}, asked again {counts['asked again']}; WRONG {counts['WRONG']}"
    )


def costs(name: str, rows: Iterable[Row]) -> None:
    """Print what asking again costs if a judge gives every reply again: calls, and replies that are lost."""
    once = twice = lost = readable = 0
    for text, ids, scale, expected in rows:
        reading = extract_scores(text, ids, scale=scale)
        if not expected or reading.scores:
            readable += bool(expected)
            continue
        readable += 1
        once += 1
        twice += 1 if reading.doubted else REASKS
        lost += not reading.doubted
    print(
        f"{name:44} {once / readable:.0%} asked again: {once / readable:.2f} extra calls a reply if the second is as "
        f"asked, {twice / readable:.2f} if it never is; then {lost / readable:.0%} abstained"
    )


def chosen() -> None:
    """Print how choices, rankings and verdicts of real judges are read."""
    counts: Counter[str] = Counter()
    for name in SETS:
        with gzip.open(recorded_data() / name / "replies.jsonl.gz", "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                expected, found = _choice_of(row)
                graded = "exact" if found == expected else "missed" if found is None else "WRONG"
                counts[graded] += 1
                if "-v" in sys.argv and graded == "WRONG":
                    print(f"  {row['id']}: expected {expected!r}, read {found!r}")
    shown = ", ".join(f"{graded} {counts[graded]}" for graded in ("exact", "missed", "WRONG"))
    print(f"{'recorded choices, rankings, verdicts':44} {counts.total():6} replies: {shown}")


def _choice_of(row: dict[str, Any]) -> tuple[Any, Any]:
    """What was expected of a recorded reply, and what is read."""
    expected, text = row["expected"], row["raw_text"]
    if "ranking" in expected:
        return expected["ranking"], list(extract_ranking(text, range(1, expected["n"] + 1)).ranking) or None
    if "winner" in expected:
        labels = [label for label in row["labels"] if "=" not in label]
        tie = next((label.split("=")[0] for label in row["labels"] if "=tie" in label), None)
        winner = expected["winner"]
        winner = labels[winner - 1] if isinstance(winner, int) else "tie" if tie and winner == tie else winner
        return winner, extract_choice(text, labels, tie=tie).choice
    if "score" in expected:
        return expected["score"], extract_scores(text, ids=["1"], scale=(0, 10)).scores.get("1")
    verdict = expected["json"]["verdict"] if "json" in expected else expected["verdict"]
    return None if verdict is None else verdict in MET, extract_verdict(text).met


def taken_back() -> None:
    """Print how verdicts are read that words take back, quote or make void; part of the truth is no error."""
    counts: Counter[str] = Counter()
    for case in takebacks.cases():
        found, is_right = takebacks.read(case)
        graded = (
            "WRONG"
            if not is_right
            else "exact"
            if found == case.truth and found not in (None, {}, ())
            else "asked again"
        )
        counts[graded] += 1
        if "-v" in sys.argv and graded == "WRONG":
            print(f"  {case.kind} {case.language} {case.text!r}: {found}")
    shown = ", ".join(f"{graded} {counts[graded]}" for graded in ("exact", "asked again", "WRONG"))
    print(f"{'verdicts taken back, quoted, void':44} {counts.total():6} replies: {shown}")


def cuts(samples: int = 100) -> None:
    """Print how many cuts of undamaged verdicts give a score that the whole verdict does not."""
    number = wrong = 0
    for seed in range(samples):
        sample = damage.damaged(1_000_000 + seed, most=0)
        for end in range(len(sample.text)):
            found = extract_scores(sample.text[:end], sample.ids, scale=sample.scale).scores
            number += 1
            wrong += any(abs(sample.truth[id_] - score) > 1e-9 for id_, score in found.items())
    print(f"{'every cut of whole verdicts':44} {number:6} replies: WRONG {wrong}")


def times() -> None:
    """Print the slowest hostile text, and what a clean reply takes."""
    slowest = {name: _best(3, partial(extract_scores, text, ("1", "2", "3"))) for name, text in zoo.hostile()}
    worst = max(slowest, key=lambda name: slowest[name])
    print(f"{'hostile texts, 400 kB':44} {len(slowest):6} texts: slowest {slowest[worst] * 1e3:.1f} ms ({worst})")
    for rows in (4, 16):
        rng = random.Random(0)
        ids = [f"K{chr(65 + place)}" for place in range(rows)]
        words = "word " * (4096 // rows // 5 - 15)
        asked = {"explanations": dict.fromkeys(ids, words), "scores": {id_: rng.randrange(101) for id_ in ids}}
        text = json.dumps(asked)
        seconds = _best(2_000, partial(extract_scores, text, ids, scale=(0, 100)))
        print(f"{f'a clean reply about {rows} candidates':44} {len(text):6} characters: {seconds * 1e6:.0f} µs")


def _best(times_: int, call: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(times_):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


if __name__ == "__main__":
    main()
