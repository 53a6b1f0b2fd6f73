"""Whether readers notice that a verdict is taken back, quoted or none: ``python -m benchmarks.reading.takebacks [-v]``.

Replies of ``tests/takeback_cases.py``, whose truth is known by construction. *Exact* is the truth read whole; *rightly
doubted*, nothing false read where nobody could be sure, or where the change was noticed and the judge is asked again;
*doubted though certain*, harmless words that cost a reply; WRONG, any number, verdict or order that is not the truth.
``-v`` prints what is not as it should be. The rules were mended after each batch of wordings; at first sight 18 of
2,193 held out of the first were read wrongly, 534 of the second's 1,837, 94 of the third's 903 and 25 of the fourth's
350.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

import takeback_cases as corpus
from calipers.replies import extract_ranking, extract_scores, extract_verdict

Grade: TypeAlias = Literal["exact", "rightly doubted", "doubted though certain", "WRONG"]
GRADES: tuple[Grade, ...] = ("exact", "rightly doubted", "doubted though certain", "WRONG")


def read(case: corpus.Case) -> Any:
    """What is read of a case: scores by id, a verdict, or an order."""
    match case.reader:
        case "scores":
            return extract_scores(case.text, case.ids, scale=case.scale).scores
        case "verdict":
            return extract_verdict(case.text).met
        case _:
            return extract_ranking(case.text, case.ids).ranking


def grade(case: corpus.Case, found: Any) -> Grade:
    """How what was read compares with the truth; part of the scores is as right as none."""
    if found == case.truth and (found or found is False or case.certain):
        return "exact"
    empty = found is None or (not found and found is not False)
    part = case.reader == "scores" and found.items() <= case.truth.items()
    if not empty and not part:
        return "WRONG"
    return "doubted though certain" if case.certain else "rightly doubted"


def main() -> None:
    counts: dict[str, dict[str, Counter[str]]] = {"kind": {}, "language": {}, "batch": {}}
    for case in corpus.cases():
        found = read(case)
        told = grade(case, found)
        for title, row in (("kind", case.kind), ("language", case.language), ("batch", case.batch)):
            counts[title].setdefault(row, Counter())[told] += 1
        if "-v" in sys.argv and told not in ("exact", "rightly doubted"):
            print(f"{told}: {case.kind} {case.language} {case.text!r}: read {found}")
    table("kind", counts["kind"], sorted)
    languages = counts["language"]
    table("language", languages, lambda names: sorted(names, key=lambda name: -languages[name].total()))
    table("batch", counts["batch"] | {"all": _sum(counts["batch"].values())}, list)


def _sum(counts: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for count in counts:
        total += count
    return total


def table(title: str, rows: dict[str, Counter[str]], order: Callable[[dict[str, Counter[str]]], list[str]]) -> None:
    print(f"\n{title:30}{'replies':>9}" + "".join(f"{name:>25}" for name in GRADES))
    for name in order(rows):
        print(f"{name:30}{rows[name].total():>9}" + "".join(f"{rows[name][grade]:>25}" for grade in GRADES))


if __name__ == "__main__":
    main()
