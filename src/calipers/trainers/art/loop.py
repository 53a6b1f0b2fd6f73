"""Judging inside ART's own loops: in ``gather_trajectory_groups``'s ``after_each``, and in ``PipelineTrainer``'s
rollouts.

ART is not imported: a gather counts its exceptions in a context variable, which is looked up if ART is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calipers.errors import ConfigError
from calipers.interfaces import Backend
from calipers.judging.judge import Judge
from calipers.protocols.question import Parse
from calipers.rubric import DEFAULT_RUBRIC
from calipers.trainers.art.judge import judge_for
from calipers.trainers.art.reward import Group, log_line_of_error, ruler_score_group, write_to_stderr
from calipers.trainers.no_signal.run import PATIENCE, JudgedRun, Lasting, LostGroupLog, Stop
from calipers.trainers.process import warn_untested

__all__ = ["JudgedBy", "judged_by"]


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """An async function that takes an ART group and returns the judged group, or None to skip it. See ``judged_by``."""

    run: JudgedRun
    rubric: str | None
    counted: bool

    @property
    def judge(self) -> Judge:
        """The Judge of the run."""
        return self.run.judge

    async def __call__(self, group: Group) -> Group | None:
        """Return the ART group with the judge's rewards. If it cannot be judged, write a line to stderr and return
        None.
        """
        self.run.require_running()
        try:
            judged = await ruler_score_group(group, self.judge, rubric=self.rubric)
        except ConfigError as error:
            self.run.end(error)
            raise
        except Exception as error:
            # An error loses only this group, unless the gather has reached its max_exceptions.
            if self.counted and _exceeds_max_exceptions():
                raise
            line, why = log_line_of_error(error)
            self.run.lost(line, why=why)
            self.run.require_running()
            return None
        self.run.succeeded()
        return judged


def judged_by(
    judge_model: str | Backend | Judge,
    extra_litellm_params: Mapping[str, object] | None = None,
    rubric: str | None = DEFAULT_RUBRIC,
    *,
    counted: bool = True,
    patience: Lasting = PATIENCE,
    stop: Stop | None = None,
    debug: bool = False,
    parse_response: Parse | None = None,
) -> JudgedBy:
    """Return a function that judges every group of an ART run: ``after_each=judged_by(...)``, or awaited in a rollout.

    Arguments are those of ``ruler_score_group``. They are checked here, before the first rollout (ConfigError). For a
    group that cannot be judged, the function writes a line to stderr and returns None, and ART skips the group. Within
    ``gather_trajectory_groups`` such a group also counts as one of ART's exceptions (``counted``). So a gather with
    ``max_exceptions`` ends, with the judge's reason, when too many groups were lost. Without ``max_exceptions`` (0), no
    number of lost groups ends it.

    After ``patience`` lost groups in a row, ``stop`` is called, once. Without ``stop``, CalipersError is raised, which
    ends a gather. If a judge refuses every question, ``stop`` is called and ConfigError raised. A PipelineTrainer
    prints the exceptions of rollouts and continues, so pass its ``request_stop`` as ``stop``.
    """
    warn_untested("openpipe-art", "0.5")
    judge = judge_for(judge_model, extra_litellm_params, debug=debug, parse=parse_response)
    return JudgedBy(JudgedRun(judge, patience=patience, stop=stop, log=LostGroupLog(write_to_stderr)), rubric, counted)


def _exceeds_max_exceptions() -> bool:
    """Count an exception in ART's current gather, if any. Return whether the gather now has too many exceptions."""
    gather = sys.modules.get("art.gather")
    if gather is None:
        return False
    # ART's own getter is not used: outside of a gather it returns a context that tolerates no exception.
    context: Any = gather.gather_context_var.get(None)
    if context is None:
        return False
    context.metric_sums["exceptions"] += 1
    context.update_pbar(n=0)
    return bool(context.max_exceptions and context.too_many_exceptions())
