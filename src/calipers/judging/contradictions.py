"""Refuses options that contradict one another, before a judge is asked.

A value that is never allowed, whatever the other options are, is refused by ``config``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

from calipers import registry
from calipers.backends.names import name_without_password, writes_text
from calipers.config.flag_values import names_rubric_file, read_rubric_file
from calipers.config.options import JudgeOptions
from calipers.config.settings import Settings
from calipers.errors import ConfigError
from calipers.interfaces import Backend
from calipers.judging.criteria import why_ungradable
from calipers.judging.instances import JudgeInstances
from calipers.ledger import WritableLedger
from calipers.rubric import Grading, as_rubric
from calipers.rubric.grading import as_grading, default_rubric
from calipers.types import Rubric
from calipers.verifiers.sandbox import shared_sandbox


def checked_settings(options: JudgeOptions, judges: Sequence[str | Backend]) -> Settings:
    """Return the settings that follow from a judge's ``options``. Raises ConfigError for contradictions."""
    chosen = Settings.from_options(options, custom_parse=options.parse is not None)
    ledger, panel = options.ledger, chosen.panel
    if not isinstance(ledger, str | Path | WritableLedger | None) and not callable(getattr(ledger, "answer", None)):
        raise ConfigError(
            f"ledger={ledger!r}: it must be a path, a sqlite:/// or postgresql:// URL, an open ledger or a Store"
        )
    rubric = _as_rubric(options.rubric)
    for problem, is_there in (_about_panel(chosen, judges) | _about_question(chosen, rubric)).items():
        if is_there:
            raise ConfigError(problem)
    grading = _grading(chosen, rubric) if registry.find_method(chosen.protocol).graded else None
    return replace(
        chosen,
        rubric=rubric or (default_rubric(chosen.question.task) if grading is None else ""),
        panel=replace(panel, weights=None if panel.weights is None else tuple(panel.weights)),
        question=replace(chosen.question, grading=grading),
    )


def _about_panel(chosen: Settings, named: Sequence[str | Backend]) -> dict[str, bool]:
    """Return what may be wrong with the options of a panel, in words, and whether it is."""
    judges, first = len(named), named[0] if isinstance(named[0], str) else ""
    writer = f"{name_without_password(first)} writes no text: name a model as the first judge"
    panel, quorum, presentations = chosen.panel, chosen.quorum, chosen.orders * chosen.samples
    mode, weights = panel.mode, panel.weights
    is_alone = judges == 1 or mode == "fallback"
    number_of_judges = "there is one" if judges == 1 else f"with panel={mode} one judge scores a group"
    several = "panels in which several judges score a group; leave it out, or name several judges"
    fits = weights is None or (len(weights) == judges and min(weights) >= 0 and 0 < sum(weights) < inf)
    return {
        f"panel={mode} needs several judges": mode != "all" and judges == 1,
        f"quorum={quorum} needs {quorum} judges or more, but {number_of_judges}": is_alone and quorum > 1,
        f"quorum={quorum} needs {quorum} judges or more, but there are {judges}": quorum > judges,
        f"quorum={quorum}: in a cycle each presentation goes to one judge; set orders={quorum} or more": (
            mode == "cycle" and quorum > presentations
        ),
        f"criteria=auto: the first judge writes criteria, and {writer}": (
            chosen.criteria.mode != "off" and bool(first) and not writes_text(first)
        ),
        f"error_correlation= is for {several}": bool(panel.error_correlation) and is_alone,
        f"weights= is for {several}": weights is not None and is_alone,
        f"weights={weights}: give a weight to each of the {judges} judges: 0 or more, not all 0": not fits,
    }


def _about_question(chosen: Settings, rubric: str | Rubric | None) -> dict[str, bool]:
    """Return what may be wrong with what is asked and how it is read, in words, and whether it is."""
    question, protocol, kind = chosen.question, chosen.protocol, chosen.reward.kind
    method = registry.find_method(protocol)
    usual = registry.load_object(method.reward)
    at_once, expected, graded = question.at_once, question.expected, method.graded
    return {
        f"orders={chosen.orders}: a pair has two orders; ask more often with samples=": (
            protocol == "pairwise" and chosen.orders > 2
        ),
        f"at_once={at_once} needs protocol=listwise": at_once is not None and protocol != "listwise",
        "absolute=True asks about groups of one trajectory, and protocol=pairwise needs two": (
            question.absolute and protocol == "pairwise"
        ),
        f"expected=True needs a protocol that asks for scores, not protocol={protocol}": (
            expected and method.expected is None
        ),
        "expected=True reads one digit for each candidate: leave parse= out": expected and chosen.custom_parse,
        "expected=True asks for digits alone, and tools= for an answer after calls: leave one out": (
            expected and bool(chosen.tools.names)
        ),
        f"canaries= does not work with protocol={protocol}: an empty decoy answer may meet a criterion": (
            chosen.defence.canaries != "off" and protocol not in ("listwise", "pairwise", "pointwise")
        ),
        f"reward={kind} does not work with protocol={protocol}; reward=rank works with any": (
            kind in {"score", "win_rate"} and registry.REWARDS.find(kind) is not usual
        ),
        "task= adds a sentence to the built-in standards: leave it out beside rubric= or protocol=checklist": (
            question.task is not None and (bool(rubric) or graded)
        ),
        f"grading= needs protocol=checklist, not {protocol}": question.grading is not None and not graded,
        "rubric= is text, and a checklist needs criteria: give a Rubric, or a .toml, .json or .yaml file": (
            graded and isinstance(rubric, str) and bool(rubric)
        ),
        f"parse= is for scores, but protocol={protocol} reads verdicts": graded and chosen.custom_parse,
        f"resolve= does not work with protocol={protocol}; ask more often with samples=": (
            graded and chosen.resolve is not None
        ),
    }


def require_abilities(settings: Settings, judges: JudgeInstances) -> None:
    """Raise ConfigError if a judge's API lacks what the settings need: log-probabilities for
    ``expected`` scores, calls of tools for ``tools``; or if this system has no sandbox for the programs of judges.
    """
    for judge in judges:
        if settings.question.expected and not judge.bare.has_logprobs:
            raise ConfigError(f"expected=True needs log-probabilities, and the API of {judge.name} has none")
        if settings.tools.names and not judge.bare.has_tools:
            remedy = (
                "name a model behind an OpenAI-compatible server or Anthropic's API, or set your Backend's has_tools"
            )
            raise ConfigError(f"tools= needs a judge that calls tools, and {judge.name} does not: {remedy}")
    if "python" in settings.tools.names:
        _ = shared_sandbox().layers  # starts it


def _as_rubric(rubric: object) -> str | Rubric | None:
    """Return the ``rubric=`` argument as text or criteria. Raises ConfigError for another type and for a file's name as
    text, InputError for a bad file.
    """
    if isinstance(rubric, Path):
        rubric = read_rubric_file(str(rubric), flag="rubric=")
    elif isinstance(rubric, str) and names_rubric_file(rubric):
        raise ConfigError(f"rubric={rubric!r} is taken for the rubric itself; to read a file, give Path({rubric!r})")
    if rubric is None or isinstance(rubric, str):
        return rubric
    if not isinstance(rubric, Rubric | Mapping | list | tuple):
        raise ConfigError(f"rubric={rubric!r}: it must be text, a Rubric, its object, or the Path of its file")
    return as_rubric(rubric)


def _grading(chosen: Settings, rubric: str | Rubric | None) -> Grading:
    """Return how a checklist is graded. Raises ConfigError if it cannot grade ``rubric``."""
    stated = chosen.question.grading
    if isinstance(stated, Mapping) and stated.get("grader_prompt") is not None:
        from calipers.inputs.rubrics import with_grader_prompt  # noqa: PLC0415 - few judges have one

        stated = with_grader_prompt(stated)
    grading = as_grading(stated)
    if chosen.orders > 1 and grading.mode != "relative":
        raise ConfigError(f"orders={chosen.orders}: only relative grading shows candidates in an order; use samples=")
    if isinstance(rubric, Rubric) and (problem := why_ungradable(rubric, grading)):
        raise ConfigError(problem)
    return grading
