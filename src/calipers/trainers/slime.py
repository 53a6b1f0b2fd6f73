"""slime: judge a prompt's samples against one another, for ``--group-rm`` and ``--custom-rm-path``.

slime is never imported: its samples are read by their attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from calipers.config.arguments import require_text
from calipers.errors import ConfigError, InputError
from calipers.trainers.no_signal.rewards import rewards_or_constant
from calipers.trainers.no_signal.run import PATIENCE, JudgedRun, Lasting, Stop, run_for_floats
from calipers.trainers.process import JudgeLike, as_judge, warn_untested
from calipers.trainers.rollouts.groups import rollout_group
from calipers.trainers.rollouts.rows import assistant_message, rubric_of_row, rubric_with_reference, version_metadata

__all__ = ["GroupReward", "group_rm"]

_UNFINISHED: Final = frozenset({"pending", "aborted"})
"""States in which a slime sample has no finished answer."""


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
    warn_untested("slime", "0.3")
    require_text(rubric=rubric, rubric_key=rubric_key)
    run = run_for_floats(as_judge(judge), patience=patience, stop=stop)
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
        return rewards_or_constant(await self.run.score_group(self._group(samples))) if samples else []

    def _group(self, samples: Sequence[Any]) -> dict[str, Any]:
        first = samples[0]
        if any(sample.prompt != first.prompt for sample in samples):
            raise InputError(
                "the samples of a group have different prompts; only answers to the same prompt can be compared"
            )
        members = [None if sample.status.value in _UNFINISHED else _member(sample) for sample in samples]
        metadata = first.metadata if isinstance(first.metadata, dict) else {}
        named = metadata.get(self.rubric_key)
        rubric = rubric_of_row(metadata, self.rubric) if named is None else named
        label = first.label if self.reference else None
        graded_by = rubric_with_reference(self.run.judge, rubric, label)
        return rollout_group(members, prompt=first.prompt, rubric=graded_by, name=_name(first))


def _member(sample: Any) -> dict[str, Any]:
    """Return a finished sample as a trajectory, with the versions of the weights that its server named, if any."""
    versions = version_metadata(*(getattr(sample, "weight_versions", None) or ()))
    return {"messages": [assistant_message(sample.response)], **versions}


def _name(sample: Any) -> str | None:
    """Return the group's name: its number in slime's log."""
    number = getattr(sample, "group_index", None)
    return None if number is None else str(number)
