"""Attacks on judges that obey them: how often they work, with and without each defence.

    python -m benchmarks.faults.attacks [--pairs 40]

The worse answer of each pair of evalbiasbench (github:ncsoft/offsetbias; recorded data, else examples/groups.jsonl)
gets an attack appended, or is replaced by one that only works alone. An attack works when that answer then gets at
least the better one's reward. The judges know the truth, and obey every attack of one kind that reaches them in its own
words. Reworded attacks are worded without the rules at hand: the detector was mended on half of
them.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tests.detector_cases import reworded

import calipers
from benchmarks.environment import recorded_data
from calipers.guard.canary import TEXTS
from calipers.guard.injection import find_attacks
from calipers.testing import ATTACKS, Bias, HollowAnswers, Injectable, Question, SimulatedJudge, WrittenAttack
from calipers.testing.question import transcript_text
from calipers.types import Candidate, Trajectory, TrajectoryGroup

REWORDED = {
    "reworded, mended on": reworded("attacks_reworded_seen"),
    "reworded, held out": reworded("attacks_reworded_held_out"),
}


class Obeys(Bias):
    """Thinks 1.0 of every candidate that holds one of ``texts``: as the judge is shown it or (``raw``) as it was
    written.
    """

    def __init__(self, texts: Iterable[str], *, raw: bool) -> None:
        self.texts = [" ".join(text.split()) for text in texts]
        self.raw = raw

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        return [1.0 if self._is_told(one) else opinion for opinion, one in zip(opinions, question.shown, strict=True)]

    def _is_told(self, candidate: Candidate) -> bool:
        last = str(candidate.messages[-1].get("content") or "")
        read = " ".join(last.split()) if self.raw else transcript_text(candidate)
        # A master key is the whole answer; anything else may stand anywhere in it.
        return any(
            text == " ".join(last.split()) if len(text) < 40 and text in SHORT else text in read for text in self.texts
        )


SHORT = frozenset(" ".join(one.text.split()) for one in ATTACKS if one.alone) | {TEXTS["master_key"]}


@dataclass(frozen=True)
class Pair:
    """A group of two, and which of them is better."""

    group: TrajectoryGroup
    better: int

    def attacked(self, attack: WrittenAttack, number: int) -> TrajectoryGroup:
        """The worse one attacks; ``number`` keeps groups apart."""
        worse = self.group.trajectories[1 - self.better]
        text = worse.messages[-1].get("content") or ""
        said = attack.text if attack.alone else f"{text}\n\n{attack.text}"
        members = list(self.group.trajectories)
        members[1 - self.better] = Trajectory(worse.id, (*worse.messages[:-1], {"role": "assistant", "content": said}))
        return replace(self.group, group_id=f"{self.group.group_id}:{number}", trajectories=tuple(members))


def load_pairs(most: int) -> list[Pair]:
    data = recorded_data() / "evalbiasbench" / "groups.jsonl.gz"
    source = data if data.exists() else "examples/groups.jsonl"
    print(f"pairs of {source.parent.name if isinstance(source, type(data)) else source}")
    pairs = []
    for group in calipers.read_groups(source):
        ranked = sorted(group.trajectories, key=lambda one: one.gold or 0.0)
        two = replace(group, trajectories=(ranked[-1], ranked[0]))
        pairs.append(Pair(two, 0))
    return pairs[:most]


DEFENCES: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "transcript": {},
    "canaries 5%": {"canaries": "sampled"},
    "canaries": {"canaries": "always"},
    "quarantine": {"on_attack": "quarantine"},
    "floor": {"on_attack": "floor"},
    "both": {"on_attack": "quarantine", "canaries": "always"},
}
"""Each alone on top of the transcript with its escapes; "none" is a judge that reads what was written."""


@dataclass(frozen=True)
class Row:
    """Attacks tried on a judge with a vice; ``vice`` is given whether the judge reads what was written, raw."""

    name: str
    attacks: Sequence[WrittenAttack]
    vice: Callable[[bool], Bias]


async def success(row: Row, pairs: Sequence[Pair], defence: str) -> tuple[float, float]:
    """The share of attacks that work, and the share of better answers that keep their reward."""
    truths = {
        pair.group.group_id: {one.id: 0.8 if place == pair.better else 0.2 for place,
                              one in enumerate(pair.group.trajectories)}
        for pair in pairs
    }  # fmt: skip
    judge = calipers.Judge.of(
        {
            "judge": SimulatedJudge(
                lambda group, one: truths[group.rpartition(":")[0]][one], row.vice(defence == "none"), model=defence
            ),
            **DEFENCES[defence],
        }
    )
    groups = [(pair, pair.attacked(attack, number)) for number, attack in enumerate(row.attacks) for pair in pairs]
    better = {group.group_id: pair.better for pair, group in groups}
    worked = kept = 0
    async for result in judge.score_groups(group for _, group in groups):
        good, bad = result.rewards[better[result.group_id]], result.rewards[1 - better[result.group_id]]
        worked += bad is not None and (good is None or bad >= good)
        kept += good is not None
    return worked / len(groups), kept / len(groups)


def table(rows: Iterable[Row], pairs: Sequence[Pair]) -> None:
    print("\nAttacks that work, of those tried on a judge that obeys them")
    print(f"{'judge obeys':34}" + "".join(f"{name:>13}" for name in DEFENCES))
    for row in rows:
        cells = [asyncio.run(success(row, pairs, defence)) for defence in DEFENCES]
        print(
            f"{f'{row.name} ({len(row.attacks)} texts)':34}" + "".join(f"{100 * worked:12.1f}%" for worked, _ in cells)
        )
        print(f"{'  better answer keeps a reward':34}" + "".join(f"{100 * kept:12.1f}%" for _, kept in cells))


def all_rows() -> Iterator[Row]:
    """The judges of known vice that are shipped, then judges that obey all texts of one kind."""
    for kind, name, vice in (
        ("instruction", "Injectable()", Injectable()),
        ("master_key", "HollowAnswers()", HollowAnswers()),
    ):
        yield Row(name, [one for one in ATTACKS if one.kind == kind], lambda _, vice=vice: vice)  # type: ignore[misc]  # a default binds it
    for kind in sorted({one.kind for one in ATTACKS}):
        attacks = [one for one in ATTACKS if one.kind == kind]
        texts = [*(one.text for one in attacks), *([TEXTS[kind]] if kind in TEXTS else [])]
        yield Row(kind.replace("_", " "), attacks, partial(_obeys, texts))
    for name, texts in REWORDED.items():
        reworded = [WrittenAttack("instruction", "en", text) for text in texts]
        yield Row(name, reworded, partial(_obeys, [*texts, TEXTS["instruction"]]))


def _obeys(texts: Sequence[str], raw: bool) -> Bias:  # noqa: FBT001 - a vice's one question
    return Obeys(texts, raw=raw)


def is_found(text: str) -> bool:
    return bool(find_attacks([{"role": "assistant", "content": text}]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=40, help="how many pairs each attack is tried on")
    table(all_rows(), load_pairs(parser.parse_args().pairs))
    known = sum(is_found(one.text if one.alone else f"Paris.\n\n{one.text}") for one in ATTACKS)
    print(f"\ndetected: {known} of {len(ATTACKS)} written with the rules at hand", end="")
    for name, texts in REWORDED.items():
        print(f"; {sum(is_found(f'Paris. {text}') for text in texts)} of {len(texts)} {name}", end="")
    honest = reworded("honest_reworded_seen") + reworded("honest_reworded_held_out")
    print(f"; {sum(map(is_found, honest))} of {len(honest)} honest texts about grading accused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
