"""Answers that could not be graded: how often their siblings' advantages keep their sign, in TRL's and in verl's own
code.

    python -m benchmarks.trainers.ungraded [--groups 500] [--size 8] [--share 0.05]

Answers have known verdicts on the criteria of their group's rubric, and a judge that tells them; of a share of the
answers it never says anything. Calipers' reward for such an answer is none, in TRL by ``reward_func`` in GRPOTrainer (a
policy of random weights), in verl by leaving the rollout out. Held against the advantages when all are graded: the same
group without the answer, and the group with 0 for it. Needs TRL or verl; what is not installed is left out. The exit
code is 1 where calipers keeps fewer signs than removing does.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import math
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias

from calipers import Judge
from calipers.rubric import as_rubric
from calipers.rubric.formulas import graded
from calipers.trainers.no_signal.rewards import trajectory_rewards
from calipers.trainers.trl import reward_func
from calipers.types import Completion, JudgeRequest

Rewards: TypeAlias = list[list[float | None]]
"""By group, a reward or None for each of its answers."""
Advantages: TypeAlias = Callable[[Rewards], list[list[float]]]
"""An engine's own: by group, one for each answer, 0.0 for those without a reward."""

_GRADING: Final = {"normaliser": "healthbench", "reward": "score", "reasons": False}


@dataclass(frozen=True)
class World:
    """Rubrics by group, verdicts by answer (groups one after the other), and the answers of which nothing is said."""

    size: int
    rubrics: list[list[dict[str, Any]]]
    verdicts: list[dict[str, bool]]
    ungraded: frozenset[int]

    @classmethod
    def of(cls, *, groups: int, size: int, share: float, seed: int) -> World:
        """Points and penalties as HealthBench has them (12 criteria, 31 % negative), verdicts with a skill behind
        them.
        """
        dice = random.Random(seed)
        rubrics = [_rubric(dice) for _ in range(groups)]
        verdicts = []
        for rubric in rubrics:
            chances = {one["id"]: dice.random() for one in rubric}
            for _ in range(size):
                skill = dice.gauss(0, 0.25)
                verdicts.append(
                    {
                        one["id"]: dice.random() < chances[one["id"]] + skill * math.copysign(1, one["points"])
                        for one in rubric
                    }
                )
        return cls(size, rubrics, verdicts, frozenset(n for n in range(groups * size) if dice.random() < share))

    def scores(self) -> Rewards:
        """What everyone would get if nothing failed."""
        everyone = (
            graded(as_rubric(self.rubrics[number // self.size]), verdicts).value
            for number, verdicts in enumerate(self.verdicts)
        )
        return [list(islice(everyone, self.size)) for _ in self.rubrics]

    def without(self, rewards: Rewards, instead: float | None) -> Rewards:
        """``instead`` for the answers of which nothing is said."""
        return [
            [instead if group * self.size + place in self.ungraded else one for place, one in enumerate(row)]
            for group, row in enumerate(rewards)
        ]


def _rubric(dice: random.Random) -> list[dict[str, Any]]:
    points = [dice.randint(1, 10) * (-1 if dice.random() < 0.31 else 1) for _ in range(11)]
    return [
        {"id": f"c{number}", "text": f"says thing {number}", "points": float(one)}
        for number, one in enumerate([5, *points])
    ]


class KnowingJudge:
    """A judge that knows every verdict; answers are named by their number, from 1."""

    endpoint, model = "here", "knowing"

    def __init__(self, world: World, *, silent: frozenset[int]) -> None:
        self._world, self._silent = world, silent

    async def complete(self, request: JudgeRequest) -> Completion:
        ask, view = request.ask, request.view
        number = int(view.ids[view.candidates[ask.members[0]].members[0]]) - 1
        if number in self._silent:
            return Completion("{}")
        met = self._world.verdicts[number]
        properties = (request.schema or {})["properties"]
        return Completion(json.dumps({key: met[one] for key, one in zip(properties, ask.criteria, strict=True)}))


def judge_of(world: World, *, silent: frozenset[int]) -> Judge:
    """A judge by criteria in calipers' own way, as for training."""
    return Judge(KnowingJudge(world, silent=silent), protocol="checklist", question={"grading": _GRADING, "reasks": 1})


# --- the engines ------------------------------------------------------------------------------------------------------


def in_trl(reward: Callable[..., Any], *, prompts: Sequence[str], size: int, **columns: Any) -> list[list[float]]:
    """The advantages that TRL's GRPOTrainer computes in a step of these prompts; completions are their own numbers."""
    from trl_runs import tokenizer, train  # noqa: PLC0415 - needs TRL

    words = tokenizer()

    def rollouts(given: Sequence[str], _: Any) -> dict[str, Any]:
        texts = [f"w{number // 6400} w{number // 80 % 80} w{number % 80} <eos>" for number in range(len(given))]
        ids = [words(text)["input_ids"] for text in (*given, *texts)]
        return {"prompt_ids": ids[: len(given)], "completion_ids": ids[len(given) :], "logprobs": None}

    settings: dict[str, Any] = {
        "num_generations": size,
        "per_device_train_batch_size": size * len(prompts),
        "shuffle_dataset": False,
    }
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(sys.stderr):
        run = train(
            [reward],
            Path(folder),
            columns={"prompt": list(prompts), **columns},
            made_with={"rollout_func": rollouts},
            **settings,
        )
    return [run.advantages[start : start + size] for start in range(0, len(run.advantages), size)]


def trl_advantages(rewards: Rewards) -> list[list[float]]:
    """TRL's, for groups of any sizes: its groups are all of one size, so there is a step for each."""
    found: list[list[float]] = [[0.0] * len(row) for row in rewards]
    for size in sorted({len(row) for row in rewards} - {0, 1}):
        places = [place for place, row in enumerate(rewards) if len(row) == size]
        flat = [one for place in places for one in rewards[place]]
        made = in_trl(lambda flat=flat, **_: flat, prompts=_prompts(len(places)), size=size)
        for place, row in zip(places, made, strict=True):
            found[place] = row
    return found


def trl_by_calipers(world: World, *, silent: frozenset[int]) -> list[list[float]]:
    """TRL's advantages with calipers' reward function, whose judge says nothing of the ``silent``."""
    reward = reward_func(judge_of(world, silent=silent), num_generations=world.size, only_reward=True)
    return in_trl(reward, prompts=_prompts(len(world.rubrics)), size=world.size, rubric=world.rubrics)


def _prompts(count: int) -> list[str]:
    return [f"w{number // 80} w{number % 80}" for number in range(count)]


def verl_advantages(rewards: Rewards) -> list[list[float]]:
    """By verl's GRPO estimator on a batch that holds the rollouts with a reward, as its agent loop hands them on."""
    import numpy as np  # noqa: PLC0415 - beside torch
    import torch  # noqa: PLC0415 - comes with verl
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn  # noqa: PLC0415 - needs verl

    kept = [(g, m, one) for g, row in enumerate(rewards) for m, one in enumerate(row) if one is not None]
    scores = torch.tensor([[one] for _, _, one in kept])
    uids = np.array([str(group) for group, _, _ in kept], dtype=object)
    made, _ = get_adv_estimator_fn("grpo")(
        token_level_rewards=scores, response_mask=torch.ones(len(kept), 1), index=uids
    )
    found = [[0.0] * len(row) for row in rewards]
    for (group, place, _), one in zip(kept, made[:, 0].tolist(), strict=True):
        found[group][place] = one
    return found


async def rewards_by_calipers(world: World, *, silent: frozenset[int]) -> Rewards:
    """What calipers hands an engine that leaves out rollouts without a reward."""
    groups = (
        {
            "group_id": str(group),
            "rubric": {"criteria": rubric},
            "context": [{"role": "user", "content": "Say things."}],
            "trajectories": [
                {"id": str(number + 1), "messages": [{"role": "assistant", "content": f"answer {number}"}]}
                for number in range(group * world.size, (group + 1) * world.size)
            ],
        }
        for group, rubric in enumerate(world.rubrics)
    )
    judge = judge_of(world, silent=silent)
    return [trajectory_rewards(result) async for result in judge.score_groups(groups, ordered=True)]


# --- the figures ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Figures:
    """Shares of graded siblings whose advantage has the sign it has when all are graded, and what the ungraded get.

    ``ungraded`` is the mean size of the advantages that calipers leaves them, ``ungraded_at_zero`` the mean with 0 for
    them.
    """

    siblings: int
    calipers: float
    removed: float
    zero: float
    ungraded_at_zero: float
    ungraded: float


def figures(world: World, full: list[list[float]], by_calipers: list[list[float]], advantages: Advantages) -> Figures:
    """``full`` and ``by_calipers`` are an engine's advantages, ``advantages`` how it comes to them."""
    scores = world.scores()
    zero = advantages(world.without(scores, 0.0))
    left = [[one for one in row if one is not None] for row in world.without(scores, None)]
    made = [iter(row) for row in advantages([list(row) for row in left])]
    siblings, gone = [], []
    for number in range(len(world.verdicts)):
        group, place = divmod(number, world.size)
        if number in world.ungraded:
            gone.append((by_calipers[group][place], zero[group][place]))
            continue
        removed = next(made[group])
        if world.size > len(left[group]):  # in whole groups there is nothing to tell
            siblings.append([one[group][place] for one in (full, by_calipers, zero)] + [removed])

    def kept(column: int) -> float:
        return sum(_sign(row[column]) == _sign(row[0]) for row in siblings) / len(siblings)

    return Figures(
        siblings=len(siblings),
        calipers=kept(1),
        removed=kept(3),
        zero=kept(2),
        ungraded=sum(abs(one) for one, _ in gone) / len(gone),
        ungraded_at_zero=sum(one for _, one in gone) / len(gone),
    )


def _sign(number: float) -> int:
    return 0 if abs(number) < 1e-6 else int(math.copysign(1, number))


def measured(world: World) -> dict[str, Figures]:
    """By engine, as far as they are installed."""
    found = {}
    if find_spec("trl") is not None:
        full, missing = (trl_by_calipers(world, silent=silent) for silent in (frozenset[int](), world.ungraded))
        found[f"TRL {version('trl')}"] = figures(world, full, missing, trl_advantages)
    if find_spec("verl") is not None:
        full, missing = (
            verl_advantages(asyncio.run(rewards_by_calipers(world, silent=silent)))
            for silent in (frozenset[int](), world.ungraded)
        )
        found[f"verl {version('verl')}"] = figures(world, full, missing, verl_advantages)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=500)
    parser.add_argument("--size", type=int, default=8)
    parser.add_argument("--share", type=float, default=0.05, help="of answers that are not graded")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    world = World.of(groups=options.groups, size=options.size, share=options.share, seed=options.seed)
    if not world.ungraded:
        sys.exit("no answer is ungraded: more --groups, or a larger --share")
    found = measured(world)
    if not found:
        sys.exit("neither TRL nor verl is installed: pip install 'calipers[trl]' or 'calipers[verl]'")
    print(f"{len(world.ungraded)} of {len(world.verdicts)} answers ungraded, in groups of {world.size}")
    print(f"{'':12}{'siblings':>10}{'none':>9}{'removed':>9}{'as 0':>9}   mean advantage of the ungraded: none, as 0")
    for engine, told in found.items():
        shares = "".join(f"{share:9.2%}" for share in (told.calipers, told.removed, told.zero))
        print(f"{engine:12}{told.siblings:>10}{shares}   {told.ungraded:.2f}, {told.ungraded_at_zero:.2f}")
    missed = 0
    for engine, told in found.items():
        met = told.calipers >= told.removed
        missed += not met
        print(f"{'met ' if met else 'MISS'}  {engine}: signs kept as often as with the ungraded answer removed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
