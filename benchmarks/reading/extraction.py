"""How well, how safely and how fast scores are read from replies: ``python -m benchmarks.reading.extraction [first
seed]``.

Four measures: the project's own recorded replies; random verdicts with 0-3 random damages each, of kinds the reader was
and was not written against, cut ones apart; every cut of undamaged verdicts; time and memory on texts meant to hurt.
A WRONG is a number that differs from what the undamaged reply said; a miss is no number.
"""

from __future__ import annotations

import json
import random
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

import reply_damage as damage
import reply_zoo as zoo
from benchmarks.environment import ROOT
from calipers.replies import extract_scores

SEEDS = 3_000


def replies(rows: Iterable[tuple[str, tuple[str, ...], tuple[float, float], dict[str, float]]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text, ids, scale, expected in rows:
        scores = extract_scores(text, ids, scale=scale).scores
        recoverable = "recoverable" if expected else "unrecoverable"
        off = any(id_ not in expected or abs(expected[id_] - score) > 1e-9 for id_, score in scores.items())
        counts[recoverable] += 1
        counts["WRONG"] += off
        counts[f"{recoverable} exact"] += not off and scores.keys() == expected.keys()
    return counts


def show(name: str, counts: Counter[str]) -> None:
    exact, all_ = counts["recoverable exact"], counts["recoverable"]
    rejected, bad = counts["unrecoverable exact"], counts["unrecoverable"]
    print(
        f"{name:34} exact {exact}/{all_} ({exact / all_:.1%})  rightly rejected {rejected}/{bad}  WRONG "
        f"{counts['WRONG']}"
    )


def damaged(first: int, damages: tuple[damage.Damage, ...]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for seed in range(first, first + SEEDS):
        sample = damage.damaged(seed, damages)
        scores = extract_scores(sample.text, sample.ids, scale=sample.scale).scores
        off = any(abs(sample.truth[id_] - score) > 1e-9 for id_, score in scores.items())
        kind = "cut" if sample.cut else "whole"
        counts[kind] += 1
        counts["WRONG"] += off
        counts[f"{kind} exact"] += not off and len(scores) == len(sample.truth)
    return counts


def every_cut(first: int, samples: int = 150) -> tuple[int, int]:
    cuts = off = 0
    for seed in range(first, first + samples):
        sample = damage.damaged(seed, most=0)
        for end in range(len(sample.text)):
            scores = extract_scores(sample.text[:end], sample.ids, scale=sample.scale).scores
            cuts += 1
            off += any(abs(sample.truth[id_] - score) > 1e-9 for id_, score in scores.items())
    return cuts, off


def best_of(times: int, call: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def worst_text() -> tuple[float, str, float, str]:
    times, peaks = {}, {}
    for name, text in zoo.HOSTILE.items():
        hostile = text[:1_048_576]
        times[name] = best_of(3, partial(extract_scores, hostile, ("1", "2", "3")))
        tracemalloc.start()
        extract_scores(hostile, ("1", "2", "3"))
        peaks[name] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    slowest, largest = max(times, key=lambda name: times[name]), max(peaks, key=lambda name: peaks[name])
    return times[slowest], slowest, peaks[largest], largest


def clean(rows: int) -> tuple[int, float]:
    rng = random.Random(0)
    ids = [str(place + 1) for place in range(rows)]
    words = "word " * (4096 // rows // 5 - 15)
    scores = [{"trajectory_id": id_, "explanation": words, "score": round(rng.random(), 2)} for id_ in ids]
    text = json.dumps({"scores": scores})
    return len(text), best_of(2_000, lambda: extract_scores(text, ids))


def main() -> None:
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    unit = (0.0, 1.0)
    recorded = map(json.loads, (ROOT / "tests/fixtures/replies.jsonl").read_text(encoding="utf-8").splitlines())
    show("recorded replies", replies((row["text"], tuple(row["ids"]), unit, row["expected"] or {}) for row in recorded))
    sections = (zoo.JSON, zoo.MORE, zoo.VALUES, zoo.SEVERAL, zoo.CUT, zoo.PROSE, zoo.TAILS, zoo.BEFORE, zoo.ATTACKS)
    simple = [(text, ("1", "2", "3"), unit, expected) for section in sections for _, text, expected in section]
    other = [(text, ids, scale, expected) for _, text, expected, ids, scale in zoo.OTHER]
    show("zoo of real and hostile replies", replies([*simple, *other]))
    for name, damages in (("damages written against", damage.TUNED), ("damages not written against", damage.UNSEEN)):
        counts = damaged(first, damages)
        exact = counts["whole exact"] + counts["cut exact"]
        whole = f"{counts['whole exact'] / counts['whole']:.1%} of {counts['whole']} not cut"
        print(f"{name:34} exact {exact / SEEDS:.1%} of {SEEDS} (seeds from {first}); {whole}; WRONG {counts['WRONG']}")
    cuts, off = every_cut(first)
    print(f"{'every cut of whole verdicts':34} {cuts} cuts, WRONG {off}")
    seconds, slowest, peak, largest = worst_text()
    print(
        f"{'hostile texts, up to 1 MB':34} {len(zoo.HOSTILE)}: slowest {seconds * 1e3:.1f} ms ({slowest}), largest "
        f"{peak / 1e6:.1f} MB ({largest})"
    )
    for rows in (4, 8, 16, 32):
        size, seconds = clean(rows)
        print(f"{f'clean reply, {rows} rows':34} {size} characters: {seconds * 1e6:.0f} µs")


if __name__ == "__main__":
    main()
