"""SkyRL: a generator whose trajectories are judged group by group, beside what their environments give.

SkyRL is never imported. Not responsible for generating, which stays the inner generator's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial, wraps
from typing import Any, TypeVar, cast

from calipers.config.arguments import require_text
from calipers.errors import ConfigError, InputError
from calipers.trainers.no_signal.one_float import floats, run_for_floats
from calipers.trainers.no_signal.run import JudgedRun, Stop
from calipers.trainers.process.judges import JudgeLike, as_judge
from calipers.trainers.process.versions import warn_untested
from calipers.trainers.rollouts.dataset_rows import rubric_of_row
from calipers.trainers.rollouts.messages import answers, places
from calipers.types import GroupResult

__all__ = ["judged"]

Generator = TypeVar("Generator")


def judged(
    generator: type[Generator],
    judge: JudgeLike,
    *,
    rubric: str | None = None,
    patience: int | None = None,
    stop: Stop | None = None,
) -> type[Generator]:
    """A subclass of a SkyRL generator class, each trajectory's reward increased by the judge's, in [0, 1].

    Trajectories of one ``instance_id`` in a batch are judged against one another. If any of a group stays without a
    score, all of the group get the same from the judge; a group of one that was not asked about gets nothing from it.
    A rubric in a row's ``env_extras`` comes before ``rubric``; rules there are not used, which a warning says. ``patience``
    and ``stop`` are those of ``run.JudgedRun``.

    Raises ConfigError for a judge that cannot work, and at run time for step-wise trajectories, missing trajectory ids and
    a judge that refuses every question; CalipersError when patience is at its end.
    """
    warn_untested("skyrl", "0.4")
    require_text(rubric=rubric)
    run, base = run_for_floats(as_judge(judge), patience=patience, stop=stop), cast("Any", generator)

    @wraps(base.generate)  # SkyRL looks at its arguments
    async def generate(self: Any, input_batch: Any, **options: Any) -> Any:
        output = await base.generate(self, input_batch, **options)
        tokenizer = getattr(self, "tokenizer", None)
        if tokenizer is None:
            raise ConfigError(f"{generator.__name__} has no tokenizer, and its trajectories cannot be read without one")
        decode = partial(tokenizer.decode, skip_special_tokens=True)
        texts = [decode(tokens) for tokens in output["response_ids"]]
        extra = await _rewards(run, input_batch, output, texts, rubric=rubric)
        rewards = [_added(own, more) for own, more in zip(output["rewards"], extra, strict=True)]
        return {**output, "rewards": rewards}

    return type(f"Judged{generator.__name__}", (generator,), {"generate": generate, "__doc__": generator.__doc__})


async def _rewards(
    run: JudgedRun, batch: Any, output: Any, texts: Sequence[str], *, rubric: str | None
) -> list[float | None]:
    ids, prompts = batch.get("trajectory_ids"), batch["prompts"]
    if output.get("is_last_step") is not None:
        raise ConfigError("step-wise trajectories are not judged: set generator.step_wise_trajectories=false")
    if ids is None or len(texts) != len(ids):
        raise ConfigError(
            "a judge compares the trajectories of a prompt, and these have no trajectory_ids to tell it by"
        )
    groups = list(places([one.instance_id for one in ids]).values())
    for group in groups:
        if any(prompts[place] != prompts[group[0]] for place in group):
            raise InputError(f"instance {ids[group[0]].instance_id} has several prompts in one batch")
    extras = batch.get("env_extras") or [None] * len(ids)
    asked = [
        answers(
            prompts[group[0]],
            [texts[place] for place in group],
            rubric=rubric_of_row(extras[group[0]], rubric),
            name=str(ids[group[0]].instance_id),
        )
        for group in groups
    ]
    rewards: dict[int, float | None] = {}
    for group, result in zip(groups, await run.score(asked), strict=True):
        rewards |= zip(group, _given(result), strict=True)
    return [rewards[place] for place in range(len(texts))]


def _given(result: GroupResult) -> Sequence[float | None]:
    """Nothing for a lone trajectory that nobody was asked about: an evaluation of single samples is its environment's."""
    lone = len(result.trajectories) == 1 and result.trajectories[0].score is None
    return [None] if lone else floats(result)


def _added(own: Any, more: float | None) -> Any:
    total = sum(own) if isinstance(own, list | tuple) else own or 0.0
    if not math.isfinite(total):
        raise InputError(f"an environment gave a reward of {total}, which would become its whole group's")
    if more is None:
        return own
    if isinstance(own, list | tuple):  # a reward a token; the sum is what SkyRL compares
        return [*own[:-1], own[-1] + more] if own else own
    return total + more
