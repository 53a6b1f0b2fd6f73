"""Whether candidates that are nearly the same get the same verdict, on recorded judges.

    python -m benchmarks.fidelity.near_duplicates

For each recorded set with texts: the pairs of candidates of a group that are alike but for white space; also case; also
dates and times; also punctuation. Then, for each judge, how often its verdicts on such pairs differ, beside all other
pairs; and how often gold does. A verdict on two candidates shown together differs unless it is a tie. Sources of the
data: ``benchmarks.fidelity.data``.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

from benchmarks.environment import recorded_data
from calipers.calibration.records import Record, read_judgments
from calipers.calibration.series import values_by_member
from calipers.inputs import read_groups
from calipers.types import Trajectory, TrajectoryGroup

SETS = ("llmbar", "pandalm", "openqa301", "tau2_airline", "taubench_airline", "gsm8k_groups", "evalbiasbench")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?)?|\d\d?:\d\d(?::\d\d)?")


def _space(text: str) -> str:
    return " ".join(text.split())


ALIKE: Mapping[str, Callable[[str], str]] = {
    "equal": lambda text: text,
    "white space": _space,
    "case": lambda text: _space(text).lower(),
    "time": lambda text: _TIME.sub("TIME", _space(text).lower()),
    "punctuation": lambda text: re.sub(r"[\W_]+", " ", text.lower()).strip(),
}
"""What two texts differ in at most, the least first."""

Pair = tuple[str, str, str]


def text_of(trajectory: Trajectory) -> str:
    return "\n".join(str(message.get("content") or "") for message in trajectory.messages)


def pairs_of(group: TrajectoryGroup) -> Iterator[tuple[Pair, str | None, bool]]:
    """Yield each pair of a group's ids, what its texts differ in at most (None: more), and whether gold differs."""
    for one, other in combinations(group.trajectories, 2):
        texts = text_of(one), text_of(other)
        kind = next((name for name, same in ALIKE.items() if same(texts[0]) == same(texts[1])), None)
        yield (group.group_id, one.id, other.id), kind, one.gold != other.gold


def verdicts(records: list[Record]) -> dict[tuple[str, str], list[Mapping[str, float]]]:
    """Return the scores of every call by judge and group; calls about one candidate each are one call."""
    found: dict[tuple[str, str], dict[tuple[object, ...], dict[str, float]]] = defaultdict(dict)
    for one in records:
        alone = one.key.protocol == "pointwise"
        call = (one.key, one.sample) if alone else (one.key, one.sample, one.order)
        scores = found[one.key.judge, one.group_id].setdefault(call, {})
        scores.update(values_by_member(one, rescale=False))
    return {key: list(calls.values()) for key, calls in found.items()}


def report(name: str) -> None:
    folder = recorded_data() / name
    pairs = [row for group in read_groups(folder / "groups.jsonl.gz") for row in pairs_of(group)]
    kinds = Counter(kind for _, kind, _ in pairs if kind is not None)
    differs = Counter(kind for _, kind, differ in pairs if kind is not None and differ)
    shown = ", ".join(f"{kind} {kinds[kind]} (gold differs in {differs[kind]})" for kind in ALIKE if kinds[kind])
    print(f"{name}: {len(pairs):,} pairs; alike but for: {shown or 'none'}")
    if not (folder / "judgments.jsonl.gz").exists() or not kinds.total() - kinds["equal"]:
        return
    said = verdicts(list(read_judgments(folder / "judgments.jsonl.gz")))
    near = {pair for pair, kind, _ in pairs if kind not in {None, "equal"}}
    for judge in sorted({judge for judge, _ in said}):
        counts: dict[bool, list[bool]] = {True: [], False: []}
        for pair, _, _ in pairs:
            group, one, other = pair
            for scores in said.get((judge, group), ()):
                if one in scores and other in scores:
                    counts[pair in near].append(abs(scores[one] - scores[other]) > 1e-9)
        rates = (f"{sum(each)} of {len(each)}" for each in (counts[True], counts[False]))
        print("  {}: verdicts differ on {} such pairs, and on {} others".format(judge, *rates))


def main() -> None:
    """Print the counts of each set."""
    if not recorded_data().is_dir():
        print(f"no recorded data at {recorded_data()}: set CALIPERS_DATA to where it is")
        return
    for name in SETS:
        report(name)


if __name__ == "__main__":
    main()
