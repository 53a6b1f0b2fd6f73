"""Judging inside ART's own loops: ``gather_trajectory_groups``'s ``after_each``, and ``PipelineTrainer``'s rollouts.

Not responsible for how a group is judged and copied (``art``). ART is not imported: a gather counts its exceptions in a
context of its own, which is looked up where ART is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from calipers.arguments import require_above_zero, require_callable, require_whole
from calipers.errors import ConfigError
from calipers.interfaces import Backend
from calipers.judge import Judge
from calipers.protocols.question import Parse
from calipers.rubric import DEFAULT_RUBRIC
from calipers.trainers.art import Group, print_left_out, ruler_score_group
from calipers.trainers.art_judge import judge_for
from calipers.trainers.tested import warn_untested

__all__ = ["JudgedBy", "judged_by"]


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """An async function of a group: the judged group, or None for one that is left out. See ``judged_by``."""

    judge: Judge
    rubric: str | None
    counted: bool
    patience: Patience

    async def __call__(self, group: Group) -> Group | None:
        """The group with the judge's rewards, or None and a line on stderr."""
        try:
            judged = await ruler_score_group(group, self.judge, rubric=self.rubric)
        except ConfigError:
            raise
        except Exception as error:
            # Whatever it is, it costs this group and no other, unless the gather has had enough of them.
            if self.counted and _is_one_too_many():
                raise
            print_left_out(str(error) or type(error).__name__)
            self.patience.try_it()
            return None
        self.patience.lost = 0
        return judged


@dataclass(slots=True)
class Patience:
    """How many groups in a row may be lost before ``stop`` is called, once."""

    most: int | None
    stop: Callable[[], object] | None
    lost: int = field(default=0, init=False)

    def try_it(self) -> None:
        """One more group is lost."""
        self.lost += 1
        if self.stop is not None and self.lost == self.most:
            sys.stderr.write(f"[calipers] {self.lost} groups in a row were left out: the run is asked to stop\n")
            self.stop()


def judged_by(
    judge_model: str | Backend | Judge,
    extra_litellm_params: Mapping[str, object] | None = None,
    rubric: str | None = DEFAULT_RUBRIC,
    *,
    counted: bool = True,
    patience: int | None = None,
    stop: Callable[[], object] | None = None,
    debug: bool = False,
    parse_response: Parse | None = None,
) -> JudgedBy:
    """What judges every group of a run: ``after_each=judged_by(...)``, or ``return await judged(group)`` in a rollout.

    Arguments are those of ``ruler_score_group``; they are checked here, before the first rollout: ConfigError. A group
    that cannot be judged becomes None, which ART leaves out, with a line on stderr. Within ``gather_trajectory_groups``
    it also counts as one of ART's exceptions (``counted``), so that a gather with ``max_exceptions`` ends, with the
    judge's reason, when too many groups were lost; without ``max_exceptions`` (its 0), no lost group ends it. After ``patience`` lost groups in a row ``stop`` is called:
    give a PipelineTrainer's ``request_stop``, for it has no ``max_exceptions``.
    """
    warn_untested("openpipe-art", "0.5")
    require_whole(patience=patience)
    require_above_zero(patience=patience)
    require_callable(stop=stop)
    if (patience is None) != (stop is None):
        raise ConfigError("patience= says when stop= is called: give both, or neither")
    judge = judge_for(judge_model, extra_litellm_params, debug=debug, parse=parse_response)
    return JudgedBy(judge, rubric, counted, Patience(patience, stop))


def _is_one_too_many() -> bool:
    """Count an exception in the gather that runs here, if one does, and ask whether it has had too many."""
    gather = sys.modules.get("art.gather")
    if gather is None:
        return False
    # Not ART's own getter: outside of a gather that one gives a context which tolerates nothing.
    context: Any = gather.gather_context_var.get(None)
    if context is None:
        return False
    context.metric_sums["exceptions"] += 1
    context.update_pbar(n=0)
    return bool(context.max_exceptions and context.too_many_exceptions())
