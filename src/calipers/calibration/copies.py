"""Leave out answers that are recorded twice: taken for repeats, they would make a judge look repeatable.

Not responsible for reading records (``records``), or for what repeats show (``repeats``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from math import gcd
from typing import TypeAlias

from calipers.calibration.records import Record

_Answers: TypeAlias = dict[Hashable, Counter[Hashable]]
"""How often each question got each answer."""


def without_copies(records: Sequence[Record]) -> list[Record]:
    """Return the records of one judge and kind of question, for calibration, without those that are there twice.

    An equal answer with the same sample index is a copy. Without sample indexes, a copy cannot be told from a judge
    that repeats itself. If no question got two different answers, equal ones are copies. Otherwise they are repeats,
    unless every answer is there equally often: twice in a file that was joined with itself.
    """
    answers: _Answers = defaultdict(Counter)
    for one in records:
        answers[_question(one)][_answer(one)] += 1
    unnumbered = {_question(one) for one in records if not one.numbered}
    copied = _times_copied([answers[question] for question in unnumbered])
    kept: list[Record] = []
    taken: Counter[Hashable] = Counter()
    for one in records:
        question, answer = _question(one), _answer(one)
        most = 1 if one.numbered or copied is None else answers[question][answer] // copied
        if taken[question, answer] < most:
            taken[question, answer] += 1
            kept.append(one)
    return kept


def _times_copied(answers: Iterable[Counter[Hashable]]) -> int | None:
    """Return how often every answer without a sample index is there; None if no question got two different ones."""
    found = list(answers)
    if all(len(one) == 1 for one in found):
        return None
    return gcd(*(count for one in found for count in one.values()))


def _question(record: Record) -> Hashable:
    return record.group_id, record.order, record.sample, record.numbered


def _answer(record: Record) -> Hashable:
    """Return what a judge said. Its price is not part of it: an answer from a ledger may be priced anew."""
    scores = None if record.scores is None else tuple(sorted(record.scores.items()))
    said = scores, record.winner, record.ranking, record.margin, record.scale, record.status
    return said, record.cost.input_tokens, record.cost.output_tokens
