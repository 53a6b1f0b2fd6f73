"""slime: judge a prompt's samples against one another, for ``--group-rm`` and ``--custom-rm-path``.

slime is never imported: its samples are read by their attributes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from calipers.errors import ConfigError
from calipers.trainers.process import JudgeLike
from calipers.trainers.rewards import rewards_or_constant
from calipers.trainers.rows import assistant_message, rubric_of_row, version_metadata
from calipers.trainers.run import PATIENCE, Lasting, Row, Stop, judged, run_for_floats

__all__ = ["group_rm"]


def group_rm(
    judge: JudgeLike, *, reference: bool = False, patience: Lasting = PATIENCE, stop: Stop | None = None
) -> Callable[..., Awaitable[list[float]]]:
    """Return the function for slime's ``--custom-rm-path MODULE.NAME``, together with ``--group-rm``.

    It returns a finite reward for each sample, in order; if any sample stays without a score, all get the same. A
    rubric in a sample's ``metadata``, in any field where data sets store rubrics, replaces the judge's. With
    ``reference`` the question contains the samples' label as the reference answer. Single samples, which slime passes
    without ``--group-rm``, are a ConfigError in the run.
    """
    run = run_for_floats(judge, patience=patience, stop=stop)

    async def reward(args: Any, samples: Any, **_: Any) -> list[float]:
        if not getattr(args, "group_rm", False) or not isinstance(samples, list | tuple):
            raise ConfigError("a judge compares the samples of a prompt: start slime with --group-rm")
        if any(isinstance(sample, list | tuple) for sample in samples):
            raise ConfigError(
                "a rollout has several samples, to which slime gives no group rewards: use a generate function that "
                "returns one sample"
            )
        rows = [_row(sample, samples[0], reference=reference) for sample in samples]
        return await judged(run, rows, rewards_or_constant)

    return reward


def _row(sample: Any, first: Any, *, reference: bool) -> Row:
    number, finished = getattr(first, "group_index", None), sample.status.value not in {"pending", "aborted"}
    versions = version_metadata(*(getattr(sample, "weight_versions", None) or ()))
    return Row(
        key=None,
        member={"messages": [assistant_message(sample.response)], **versions} if finished else None,
        prompt=sample.prompt,
        rubric=rubric_of_row(first.metadata),
        reference=first.label if reference else None,
        name=None if number is None else str(number),
    )
