"""slime: judge a prompt's samples against one another, for ``--group-rm`` and ``--custom-rm-path``.

slime is never imported: its samples are read by their attributes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calipers.config.arguments import require_text
from calipers.errors import ConfigError
from calipers.trainers.process import JudgeLike
from calipers.trainers.rewards import rewards_or_constant
from calipers.trainers.rows import assistant_message, rubric_of_row, version_metadata
from calipers.trainers.run import PATIENCE, JudgedRun, Lasting, Row, Stop, judged, run_for_floats

__all__ = ["GroupReward", "group_rm"]


def group_rm(
    judge: JudgeLike,
    *,
    rubric: str | None = None,
    rubric_key: str = "rubric",
    reference: bool = False,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
) -> GroupReward:
    """Return the function for slime's ``--custom-rm-path MODULE.NAME``, together with ``--group-rm``.

    ``rubric`` is the text by which groups are judged. A sample's ``metadata[rubric_key]`` takes precedence over it. So
    does a rubric in any other field of ``metadata`` where data sets store rubrics. A warning says that rules there are
    not used. With ``reference`` the question contains the samples' label as the reference answer. ``patience`` and
    ``stop`` are those of ``run.JudgedRun``. Raises ConfigError for an invalid judge.
    """
    run = run_for_floats(judge, "slime", rubric=rubric, patience=patience, stop=stop)
    require_text(rubric_key=rubric_key)
    return GroupReward(run, rubric, rubric_key, reference)


@dataclass(frozen=True, slots=True)
class GroupReward:
    """The async function that ``group_rm`` returns; its arguments are slime's arguments and one group's samples."""

    run: JudgedRun
    rubric: str | None
    rubric_key: str
    reference: bool

    async def __call__(self, args: Any, samples: Any, **_: Any) -> list[float]:
        """Return a finite reward for each sample, in order. If any sample stays without a score, all get the same
        reward.

        Raises ConfigError for single samples, which slime passes without ``--group-rm``, and for a judge that refuses
        every question. Raises CalipersError when patience runs out.
        """
        if not getattr(args, "group_rm", False) or not isinstance(samples, list | tuple):
            raise ConfigError("a judge compares the samples of a prompt: start slime with --group-rm")
        if any(isinstance(sample, list | tuple) for sample in samples):
            raise ConfigError(
                "a rollout has several samples, to which slime gives no group rewards: use a generate function that "
                "returns one sample"
            )
        return await judged(self.run, [self._row(sample, samples[0]) for sample in samples], rewards_or_constant)

    def _row(self, sample: Any, first: Any) -> Row:
        metadata = first.metadata if isinstance(first.metadata, dict) else {}
        named, number = metadata.get(self.rubric_key), getattr(first, "group_index", None)
        finished = sample.status.value not in {"pending", "aborted"}
        versions = version_metadata(*(getattr(sample, "weight_versions", None) or ()))
        return Row(
            key=None,
            member={"messages": [assistant_message(sample.response)], **versions} if finished else None,
            prompt=sample.prompt,
            rubric=rubric_of_row(metadata, self.rubric) if named is None else named,
            reference=first.label if self.reference else None,
            name=None if number is None else str(number),
        )
