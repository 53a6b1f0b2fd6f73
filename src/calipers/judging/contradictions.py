"""Refuses options that contradict one another, before a judge is asked.

A value that is never allowed, whatever the other options are, is refused by ``config``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from calipers import registry
from calipers.config.flag_values import names_rubric_file, read_rubric_file
from calipers.config.grouped_options import Defence, Panel, Question, Reward
from calipers.config.options import JudgeOptions
from calipers.config.settings import Settings
from calipers.errors import ConfigError
from calipers.interfaces import Backend
from calipers.judging.criteria import why_ungradable
from calipers.judging.instances import JudgeInstances
from calipers.ledger import WritableLedger
from calipers.rubric import DEFAULT_RUBRIC, Grading, as_rubric
from calipers.rubric.grading import as_grading
from calipers.types import Rubric
from calipers.verifiers.sandbox import shared_sandbox

CHECKLIST: Final = "checklist"
_MOST_PRESENTATIONS: Final = 10_000
"""The largest number of first questions about a group: they are planned all at once, and must fit in memory."""


def checked_settings(options: JudgeOptions, judges: Sequence[str | Backend]) -> Settings:
    """Check ``options`` before judging, without judges; return the settings that follow.

    Raises ConfigError for contradictions.
    """
    chosen = Settings.from_options(options, custom_parse=options.parse is not None)
    protocol, question, panel = chosen.protocol, chosen.question, chosen.panel
    _require_ledger(options.ledger)
    if chosen.orders * chosen.samples > _MOST_PRESENTATIONS:
        raise ConfigError(
            f"orders={chosen.orders}, samples={chosen.samples}: together they ask about a group at most "
            f"{_MOST_PRESENTATIONS:,} times; two or four are usual"
        )
    _require_panel(panel, len(judges), chosen.quorum, presentations=chosen.orders * chosen.samples)
    _require_question(question, protocol, reads_itself=chosen.custom_parse)
    _require_canaries(chosen.defence, protocol)
    _require_reward(chosen.reward, protocol)
    _require_readable_answer(chosen)
    rubric = _as_rubric(options.rubric)
    grading = _grading(chosen, rubric)
    return replace(
        chosen,
        rubric=rubric or (DEFAULT_RUBRIC if grading is None else ""),
        panel=replace(panel, weights=None if panel.weights is None else tuple(panel.weights)),
        question=replace(question, grading=grading),
    )


def _require_ledger(ledger: object) -> None:
    known = isinstance(ledger, str | Path | WritableLedger | None)
    if not known and not callable(getattr(ledger, "answer", None)):
        raise ConfigError(
            f"ledger={ledger!r}: it must be a path, a sqlite:/// or postgresql:// URL, an open ledger or a Store"
        )


def require_abilities(settings: Settings, judges: JudgeInstances) -> None:
    """Raise ConfigError if a judge's API lacks what the settings need: log-probabilities for
    ``expected`` scores, calls of tools for ``tools``; or if this system has no sandbox for the programs of judges.
    """
    for judge in judges:
        if settings.question.expected and not judge.bare.has_logprobs:
            raise ConfigError(
                f"expected=True needs log-probabilities, and the API of {judge.name} has none: leave it out, or use "
                "another judge"
            )
        if settings.tools.names and not judge.bare.has_tools:
            raise ConfigError(
                f"tools= (--tool) needs a judge that calls tools, and {judge.name} does not: name a model behind an "
                "OpenAI-compatible server or Anthropic's API, or leave tools= out (your own Backend sets has_tools)"
            )
    if "python" in settings.tools.names:
        _ = shared_sandbox().layers  # starts it


def _require_readable_answer(chosen: Settings) -> None:
    if chosen.tools.names and chosen.question.expected:
        raise ConfigError("expected=True asks for digits alone, and tools= for an answer after calls: leave one out")


def _require_panel(panel: Panel, judges: int, quorum: int, *, presentations: int) -> None:
    mode, weights = panel.mode, panel.weights
    if mode != "all" and judges == 1:
        raise ConfigError(
            f'panel={mode!r} needs several judges, as in judge=["openai/gpt-5-mini", "vllm/qwen3"], or --judge for each'
        )
    one_scores = mode == "fallback"
    most = 1 if one_scores else judges
    if quorum > most:
        alone = f", because with a {mode} one judge scores a group" if one_scores else ""
        may_be = "and there is only one" if judges == 1 else f"from 1 to {most}{alone}"
        raise ConfigError(f"quorum={quorum!r}: it counts judges, {may_be}")
    if mode == "cycle" and quorum > presentations:
        raise ConfigError(
            f"quorum={quorum}: in a cycle each presentation goes to one judge, and there are {presentations}; "
            "raise orders="
        )
    if panel.error_correlation and (judges == 1 or one_scores):
        raise ConfigError("panel: error_correlation= is for panels in which several judges score a group; leave it out")
    if weights is None:
        return
    if judges == 1 or one_scores:
        raise ConfigError("panel: weights= are for panels in which several judges score a group")
    if len(weights) != judges or not all(weight >= 0 for weight in weights) or not 0 < sum(weights) < float("inf"):
        raise ConfigError(
            f"panel: weights={list(weights)}: give one for each of the {judges} judges, 0 or more, not all 0"
        )


def _require_question(question: Question, protocol: str, *, reads_itself: bool) -> None:
    if question.at_once is not None and protocol != "listwise":
        raise ConfigError(f"at_once={question.at_once} needs protocol='listwise', not {protocol!r}")
    if question.absolute and protocol == "pairwise":
        raise ConfigError(
            "absolute=True asks about groups of one trajectory, but protocol='pairwise' needs two: use another protocol"
        )
    if question.expected:
        if registry.find_method(protocol).expected is None:
            raise ConfigError(f"expected=True needs a protocol that asks for scores, not protocol={protocol!r}")
        if reads_itself:
            raise ConfigError("expected=True reads one digit for each candidate: leave parse= out")


def _require_canaries(defence: Defence, protocol: str) -> None:
    if defence.canaries == "off":
        return
    if protocol not in ("listwise", "pairwise", "pointwise"):
        raise ConfigError(
            f"canaries do not work with protocol={protocol!r}, because an empty decoy answer may meet a criterion: "
            "leave canaries out, or use another protocol"
        )


def _require_reward(reward: Reward, protocol: str) -> None:
    kind = reward.kind
    usual = registry.load_object(registry.find_method(protocol).reward)
    if kind in {"score", "win_rate"} and registry.REWARDS.find(kind) is not usual:
        raise ConfigError(f"reward: kind={kind!r} does not work with protocol={protocol!r}; kind='rank' works with any")


def _as_rubric(rubric: object) -> str | Rubric | None:
    """Return the ``rubric=`` argument as text or criteria. Raises ConfigError for another type and for a file's name as
    text, InputError for a bad file.
    """
    if isinstance(rubric, Path):
        rubric = read_rubric_file(str(rubric), flag="rubric=")
    elif isinstance(rubric, str) and names_rubric_file(rubric):
        raise ConfigError(f"rubric={rubric!r} is the name of a file, and not its standards: give Path({rubric!r})")
    if rubric is None or isinstance(rubric, str):
        return rubric
    if not isinstance(rubric, Rubric | Mapping | list | tuple):
        raise ConfigError(f"rubric={rubric!r}: it must be text, a Rubric, its object, or the Path of its file")
    return as_rubric(rubric)


def _grading(chosen: Settings, rubric: str | Rubric | None) -> Grading | None:
    """Return how a checklist is graded; None for other protocols. Raises ConfigError for options that contradict it."""
    given = chosen.question.grading
    if chosen.protocol != CHECKLIST:
        if given is not None:
            raise ConfigError(f"grading= needs protocol='checklist', not {chosen.protocol!r}")
        return None
    if isinstance(rubric, str) and rubric:
        raise ConfigError(
            "protocol='checklist' checks criteria, but rubric= is text: give a Rubric, or the Path of a .toml, .json "
            "or .yaml file with criteria"
        )
    if chosen.custom_parse:
        raise ConfigError("parse= is for scores, but protocol='checklist' reads verdicts: leave it out")
    if chosen.resolve is not None:
        raise ConfigError("resolve= does not work with protocol='checklist'; ask more often with samples=")
    if isinstance(given, Mapping) and given.get("grader_prompt") is not None:
        from calipers.inputs.rubrics import with_grader_prompt  # noqa: PLC0415 - few judges have one

        given = with_grader_prompt(given)
    grading = as_grading(given)
    if isinstance(rubric, Rubric) and (problem := why_ungradable(rubric, grading)):
        raise ConfigError(problem)
    return grading
