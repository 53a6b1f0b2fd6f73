"""Makes the embedded judge with ``calipers distill``; the same data give the same bytes. Run by ``make embedded``.

    python scripts/fit_embedded.py [--data DIR] [--check]

It learns from the gold of seven public sets. What is printed is measured on groups that had no part in the fit, in two
ways: without the prompt (five folds; the airline sets' tasks are in one fold each), and without the whole set. Which
features exist was decided with these sets in view, so the first figures are somewhat kind to the judge, the second less
so. Beside it: the prior's weights, with nothing learned; the longest and the shortest answer; and chance. The project's
example groups are not learned from, but a look at them prompted the feature ``figures`` and the narrower reading of
``consensus``.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from calipers import read_groups
from calipers.backends.embedded.features import FEATURES
from calipers.backends.embedded.model import MODEL_FILE, SHIPPED, Model
from calipers.backends.local.features import LENGTH, Array
from calipers.calibration import measures
from calipers.distilling import distill
from calipers.distilling.folder import CARD
from calipers.distilling.groups import TrainingGroup, padded, training_group
from calipers.distilling.signed import PRIOR, fit_signed, scores_of

VERSION = 2
FOLDS = 5
SETS = ("taubench_airline", "tau2_airline", "gsm8k_groups", "openqa301", "pandalm", "llmbar", "evalbiasbench")
AIRLINE = frozenset({"taubench_airline", "tau2_airline"})
"""These two hold the same tasks, numbered at the end of a group's id: left out together."""

BY_PROMPT, BY_SET, PRIOR_ALONE = "held-out prompts", "held-out data set", "prior weights"
HELD_OUT = "held_out.json"
FILES = (MODEL_FILE, CARD, HELD_OUT)

Data: TypeAlias = Mapping[str, Sequence[TrainingGroup]]
Score: TypeAlias = Callable[[TrainingGroup], Array]
Figures: TypeAlias = dict[str, float]


def file_of(folder: Path, name: str) -> Path:
    """The groups file of a set."""
    return folder / name / "groups.jsonl.gz"


def load(folder: Path) -> Data:
    """The groups of each set whose gold differs."""
    found = {}
    for name in SETS:
        nothing = ((group, [None] * len(group.trajectories)) for group in read_groups(file_of(folder, name)))
        groups = [training_group(group, none, none) for group, none in nothing]
        found[name] = [one for one in groups if len(set(one.gold.tolist())) > 1]
    return found


def make(folder: Path, out: Path) -> None:
    """Write the judge, its card and what was measured on groups held out to ``out``; print the measurements."""
    files = [file_of(folder, name) for name in SETS]
    with tempfile.TemporaryDirectory() as place:
        distill(*files, out=place, form="embedded", name="embedded", version=VERSION, learn_from="gold")
        for name in (MODEL_FILE, CARD):
            shutil.copyfile(Path(place) / name, out / name)
    found = figures_of(load(folder))
    print_figures(found)
    stored = {title: found[title] for title in (BY_PROMPT, BY_SET, PRIOR_ALONE)}
    (out / HELD_OUT).write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def prompt_of(name: str, one: TrainingGroup) -> str:
    """What tells the prompt of a group from others, of whatever set."""
    return one.group.group_id.rsplit(":", 1)[-1] if name in AIRLINE and one.group else one.source


def by_prompt(data: Data) -> Mapping[str, Sequence[Array]]:
    """Each group scored by a judge that was made without its prompt."""
    names = sorted({prompt_of(name, one) for name, groups in data.items() for one in groups})
    shuffled = np.random.default_rng(1).permutation(len(names))
    fold = {names[place]: number % FOLDS for number, place in enumerate(shuffled)}
    models = []
    for number in range(FOLDS):
        inside = (one for name, groups in data.items() for one in groups if fold[prompt_of(name, one)] != number)
        models.append(fit_signed(list(inside), "gold"))
    return {
        name: [scores_of(models[fold[prompt_of(name, one)]], one.measured.values) for one in groups]
        for name, groups in data.items()
    }


def by_set(data: Data) -> Mapping[str, Sequence[Array]]:
    """Each set scored by a judge that was made without it."""
    found = {}
    for name, groups in data.items():
        hidden = AIRLINE if name in AIRLINE else {name}
        model = fit_signed([one for other, groups in data.items() if other not in hidden for one in groups], "gold")
        found[name] = [scores_of(model, one.measured.values) for one in groups]
    return found


def scored(data: Data, score: Score) -> Mapping[str, Sequence[Array]]:
    """Each group scored by a rule that learned nothing."""
    return {name: [score(one) for one in groups] for name, groups in data.items()}


def tables(data: Data) -> Mapping[str, Mapping[str, Sequence[Array]]]:
    """The scores of every set's groups, by what gave them."""
    prior = Model("prior", 1, tuple(PRIOR[name] for name in FEATURES), 2.0, 1.0)
    return {
        BY_PROMPT: by_prompt(data),
        BY_SET: by_set(data),
        PRIOR_ALONE: scored(data, lambda one: scores_of(prior, one.measured.values)),
        "longest": scored(data, lambda one: one.measured.values[:, LENGTH]),
        "shortest": scored(data, lambda one: -one.measured.values[:, LENGTH]),
        "random": scored(data, lambda one: np.zeros(len(one.gold))),  # all alike: what chance is expected to be
    }


def figures_of(data: Data) -> dict[str, dict[str, Figures]]:
    """For each way to score, and each set: the mean within-group correlation with gold, its error, and pairs."""
    found: dict[str, dict[str, Figures]] = {}
    for title, rows in tables(data).items():
        for name, groups in data.items():
            own, gold = padded(rows[name]), padded([one.gold for one in groups])
            by_group = measures.fidelity(own, gold)
            numbers = (by_group.mean(), by_group.std(ddof=1) / math.sqrt(len(groups)), pairs(own, gold))
            fidelity, error, right = (round(float(one), 3) for one in numbers)
            row: Figures = {"fidelity": fidelity, "fidelity_se": error, "pairs": right, "groups": len(groups)}
            found.setdefault(title, {})[name] = row
    return found


def print_figures(found: Mapping[str, Mapping[str, Figures]]) -> None:
    """Print what ``figures_of`` returns, set by set, and the means of the sets."""
    print("fidelity (standard error over groups), pairs ordered rightly")
    for name in SETS:
        print(f"{name} ({found['random'][name]['groups']} groups)")
        for title, rows in found.items():
            one = rows[name]
            print(f"  {title:18}{one['fidelity']:7.3f} ({one['fidelity_se']:.3f}){one['pairs']:7.3f}")
    print("mean of the sets")
    for title, rows in found.items():
        print(f"  {title:18}{np.mean([one['fidelity'] for one in rows.values()]):7.3f}")


def pairs(own: Array, gold: Array) -> float:
    """Return the mean over groups of the share of unequal pairs that are ordered rightly; a tie counts a half."""
    known = ~np.isnan(gold)
    wanted, given = measures.pair_signs(gold, known), measures.pair_signs(own, known)
    unequal = (wanted != 0).reshape(len(gold), -1)
    right = ((1 + given * wanted) / 2).reshape(len(gold), -1)
    return float(np.mean((right * unequal).sum(axis=1) / unequal.sum(axis=1)))


def is_shipped(folder: Path) -> bool:
    """Make the judge anew, and return whether every file has the bytes of the one in the package."""
    with tempfile.TemporaryDirectory() as place:
        make(folder, Path(place))
        differing = [name for name in FILES if (Path(place) / name).read_bytes() != (SHIPPED / name).read_bytes()]
    print("the judge in the package: " + (f"DIFFERS in {', '.join(differing)}" if differing else "as made"))
    return not differing


def main() -> None:
    """Print the tables, and write the judge or compare it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("CALIPERS_DATA") or beside))
    parser.add_argument("--check", action="store_true", help="compare with the shipped files instead of writing")
    given = parser.parse_args()
    if not given.data.is_dir():
        raise SystemExit(f"no recorded data at {given.data}: name its folder with --data")
    if given.check:
        raise SystemExit(0 if is_shipped(given.data) else 1)
    make(given.data, SHIPPED)


if __name__ == "__main__":
    main()
