"""RuscaRL's and VerIF's reward functions as configurations of calipers, with their data columns and their formulas.

``rubric_batch`` grades a row's weighted criteria, all of them in one question per answer; ``verif`` runs a row's rules
and asks a judge about the other requirements. Both are functions for verl's ``custom_reward_function``, and recipes of
the agent loop (``verl.agent_loop``). Needs neither verl nor Ray.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from calipers.config.arguments import require_whole
from calipers.errors import ConfigError, InputError
from calipers.inputs import as_group
from calipers.inputs.plain import plain_data
from calipers.judging.hybrid import Hybrid
from calipers.judging.judge import Judge
from calipers.trainers.process import blocking
from calipers.trainers.process.once import once_per_process
from calipers.trainers.rollouts.dataset_rows import standards_of_row, warn_unused
from calipers.trainers.rollouts.images import Images
from calipers.trainers.rollouts.messages import assistant_message
from calipers.trainers.verl.responses import (
    PROMPTS,
    judged_response,
    prompt_of_row,
    require_number,
    reward_of_response,
    settings_as_text,
    standards_in_row,
    text_as_messages,
)
from calipers.trainers.verl.rows import group_fields_of_row
from calipers.trainers.verl.settings import Recipe, VerlSettings, make_judge, read_settings
from calipers.types import Rubric, TrajectoryGroup
from calipers.verifiers import has_answer
from calipers.verifiers.constraints import Constraints, RulesAs, read_constraints

_FOR_MAIN_EVAL: Final = (
    "main_eval passes a reward function reward_model.ground_truth and nothing else of a row: calipers generate -o "
    "OUT.parquet writes what the row asks for into it"
)


def group_scorer(settings: VerlSettings, judge: Judge) -> Judge | Hybrid:
    """Return verl's scorer of whole groups for the settings' recipe: the judge alone, or with a row's rules."""
    if settings.recipe != "verif":
        return judge
    checks = partial(_constraints, rules=settings.rules)
    return Hybrid(judge, checks=checks, combine="verif_code", gates=[has_answer])


def common_group_fields(row: Mapping[str, Any], settings: VerlSettings, *, rubric: str) -> dict[str, Any]:
    """Return what all rollouts of a verl row share, as the fields of a group; ``rubric`` is the judge's own.

    Raises InputError.
    """
    if settings.recipe is None:
        return group_fields_of_row(row, rubric=rubric, reference=settings.reference)
    common = {"group_id": str(row["uid"]), "context": Images().to_urls(list(row["raw_prompt"]))}
    stated = standards_of_row(row)
    if settings.recipe == "rubric_batch":
        if not isinstance(stated.rubric, Rubric):
            raise InputError(_NO_CRITERIA)
        if stated.rules is not None:
            warn_unused(f"the rules in {stated.rules.place}", "+calipers.recipe=verif runs them")
        return {**common, "rubric": stated.rubric}
    model = row.get("reward_model")
    truth = _truth(model.get("ground_truth") if isinstance(model, Mapping) else None) if stated.rules is None else None
    if stated.rubric is not None and settings.scaffold is None:
        warn_unused(f"the rubric in {stated.rubric_place}", "+calipers.recipe=rubric_batch grades by it")
    return {**common, "ground_truth": truth if stated.rules is None else stated.rules.value}


def logged_acc(reward: float, recipe: Recipe) -> float:
    """Return what verl logs as ``acc``. For a rubric it is whether the reward is above 0.5; for VerIF, the reward
    itself.
    """
    return float(reward > 0.5) if recipe == "rubric_batch" else reward


def rubric_batch(
    data_source: object,
    solution_str: str,
    ground_truth: object = None,
    extra_info: Mapping[str, Any] | None = None,
    *,
    on_failure: float | None = None,
    max_workers_per_url: int | None = None,
    **settings: Any,
) -> float | dict[str, Any]:
    """Grade a response in verl by its row's criteria.

    The grade is the points of met criteria divided by all positive points, but at least 0.

    The criteria and the prompt are ``extra_info.reward_model.rubrics`` and ``extra_info.prompt``. verl's reward loop
    gets ``{"score", "acc", "ground_truth"}``, an object that counts as its score in averages. ``main_eval`` passes no
    ``extra_info`` and gets the score; ``ground_truth`` is then an object, or its JSON text, with ``prompt`` and
    ``rubrics``. ``settings`` are options of ``calipers.Judge``, including ``judge``. ``max_workers_per_url`` is the
    number of concurrent calls to each of its ``base_url``s. Raises InputError for a row without criteria. If there is
    no score, it acts as ``compute_score`` does.
    """
    stated = standards_in_row(ground_truth, extra_info)
    if not isinstance(stated.rubric, Rubric):
        raise InputError(f"{data_source}: {_NO_CRITERIA}{'' if extra_info else f'. {_FOR_MAIN_EVAL}'}")
    if stated.rules is not None:
        warn_unused(f"the rules in {stated.rules.place}", "verif runs them")
    common = {"context": text_as_messages(prompt_of_row(ground_truth, extra_info)) or [], "rubric": stated.rubric}
    table = {**settings, "recipe": "rubric_batch", **_concurrency(settings, max_workers_per_url)}
    score = _scored(common, solution_str, data_source, table=table, on_failure=on_failure)
    if extra_info is None:
        return score
    return Graded(score=score, acc=score > 0.5, ground_truth=ground_truth)


class Graded(dict[str, Any]):
    """The result for verl's reward loop, an object that is also a number (its ``score``) for code that averages."""

    def __float__(self) -> float:
        return float(self["score"])

    def __add__(self, other: Any) -> float:
        return float(self) + float(other)

    __radd__ = __add__

    def __truediv__(self, other: Any) -> float:
        return float(self) / float(other)


def verif(
    data_source: object,
    solution_str: str,
    ground_truth: object = None,
    extra_info: Mapping[str, Any] | None = None,
    *,
    skip_rules: bool = False,
    ignore_rules: bool = False,
    on_failure: float | None = None,
    max_workers_per_url: int | None = None,
    **settings: Any,
) -> float:
    """Score a response in verl as VerIF does.

    The score is the share of the rules that the response follows. It is 0 if the judge finds that the response does not
    fulfil the part of the instruction for which there are no rules.

    ``ground_truth`` has ``checkers`` and ``functions``, or IFEval's ``instruction_id_list`` and ``kwargs``, as an
    object or its JSON text (else ``extra_info`` has them). The prompt is the field ``prompt``, ``instruction``,
    ``prompt_str``, ``prompt_text`` or ``question`` of the object, or of ``extra_info``. Rules run in a sandbox. With
    ``skip_rules`` the judge assesses their wording instead, and ``ignore_rules`` drops them. All other arguments are as
    for ``rubric_batch``. Raises InputError for a row that cannot be read, or that has something to judge but no prompt.
    If there is no score, for example because a rule crashed, the result is that of ``compute_score`` without a score.
    """
    rules: RulesAs = "ignore" if ignore_rules else "judge" if skip_rules else "code"
    stated = standards_in_row(ground_truth, extra_info)
    truth = _truth(ground_truth) if stated.rules is None else stated.rules.value
    if stated.rubric is not None:
        warn_unused(f"the rubric in {stated.rubric_place}", "rubric_batch grades by it")
    prompt = prompt_of_row(ground_truth, extra_info)
    if prompt is None and read_constraints(truth, rules=rules).soft:
        raise InputError(
            f"{data_source}: a judge must know what was asked, and extra_info has no "
            f"{' or '.join(PROMPTS)}. +calipers.recipe=verif in verl's agent loop sees every prompt. {_FOR_MAIN_EVAL}"
        )
    common = {"context": text_as_messages(prompt) or [], "ground_truth": truth}
    table = {**settings, "recipe": "verif", "rules": rules, **_concurrency(settings, max_workers_per_url)}
    return _scored(common, solution_str, data_source, table=table, on_failure=on_failure)


def _scored(
    common: Mapping[str, Any],
    solution: str,
    data_source: object,
    *,
    table: Mapping[str, Any],
    on_failure: float | None,
) -> float:
    require_number(on_failure)
    group = as_group({**common, "trajectories": [{"messages": [assistant_message(solution)]}]})
    judge, scorer = _scorer(settings_as_text(table))
    (row,) = blocking.run_coroutine(judged_response(judge, scorer.score_group, group)).trajectories
    return reward_of_response(row, data_source, on_failure=on_failure)


@once_per_process(maxsize=8)
def _scorer(table: str) -> tuple[Judge, Judge | Hybrid]:
    """Return the judge and the scorer that all responses with the same settings share."""
    settings = read_settings(json.loads(table))
    judge = make_judge(settings)
    return judge, group_scorer(settings, judge)


def _concurrency(settings: Mapping[str, Any], per_url: int | None) -> dict[str, int]:
    require_whole(max_workers_per_url=per_url)
    if per_url is None:
        return {}
    if "concurrency" in settings:
        raise ConfigError("concurrency and max_workers_per_url both limit concurrent calls: set only one of them")
    urls = settings.get("base_url")
    return {"concurrency": per_url * (1 if urls is None or isinstance(urls, str) else max(1, len(urls)))}


def _constraints(group: TrajectoryGroup, *, rules: RulesAs) -> Constraints:
    asked = "\n".join(str(message.get("content") or "") for message in group.context)
    return read_constraints(group.extra["ground_truth"], instruction=asked, rules=rules)


_NO_CRITERIA: Final = (
    "the row has no criteria: they are expected in extra_info.reward_model.rubrics, as RuscaRL has them"
)


def _truth(value: object) -> Any:
    if not isinstance(value, str | Mapping) or not value:
        raise InputError("the row has no reward_model.ground_truth with checkers and functions, as VerIF has it")
    return plain_data(value)
