"""Reward functions for verl that see one response: ``compute_score``, RuscaRL's ``rubric_batch`` and VerIF's ``verif``.

Not for training by comparison: a judge that sees one response at a time distinguishes similar responses poorly. Needs
neither verl nor Ray.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, get_args

from calipers.config.arguments import require_one_of
from calipers.errors import CalipersError, ConfigError, InputError
from calipers.inputs import as_group
from calipers.inputs.plain import plain_data
from calipers.judging.hybrid import Hybrid
from calipers.judging.judge import Judge
from calipers.rubric.dataset_standards import Standards, ground_truth_object
from calipers.trainers.process import once_per_process, run_coroutine
from calipers.trainers.rows import (
    assistant_message,
    rubric_text_with_reference,
    standards_of_row,
    warn_unused,
)
from calipers.trainers.verl.rows import reference_text, truth_with_rules
from calipers.trainers.verl.settings import Recipe, VerlSettings, make_judge, read_settings, with_router
from calipers.types import GroupResult, Rubric, TrajectoryGroup
from calipers.verifiers import has_answer
from calipers.verifiers.constraints import Constraints, RulesAs, read_constraints

_NO_CRITERIA: Final = (
    "the row has no criteria: they are expected in extra_info.reward_model.rubrics, as RuscaRL has them"
)

_VERL_ARGUMENTS: Final = frozenset({"reward_router_address", "reward_model_tokenizer"})
"""Arguments that verl's reward loop passes in addition to ``reward_kwargs``."""

_PROMPTS: Final = ("prompt", "instruction", "prompt_str", "prompt_text", "question")
"""Keys of a ground truth or ``extra_info`` that may hold the prompt. The first of them that is present counts."""

_FOR_MAIN_EVAL: Final = (
    "main_eval passes a reward function reward_model.ground_truth and nothing else of a row: calipers generate -o "
    "OUT.parquet writes what the row asks for into it"
)


def compute_score(
    data_source: object,
    solution_str: str,
    ground_truth: object,
    extra_info: Mapping[str, Any] | None = None,
    *,
    on_failure: float | None = None,
    **settings: Any,
) -> float:
    """Return the quality of one response in verl, from 0 to 1 (or in the judge's ``reward_range``).

    ``settings`` are options of ``calipers.Judge``, as in ``reward_kwargs``. ``judge`` is required. The default
    ``protocol`` is pointwise, or checklist if the row has criteria. ``ground_truth`` is a reference, or an object (or
    its JSON text) with any of these fields: ``prompt`` (text or messages), ``reference``, ``rubric``, ``rubrics``, and
    rules, with which the response is scored as by ``verif``. Missing fields are taken from ``extra_info``.

    Raises CalipersError if the judge gives no score. With ``on_failure``, that number is returned instead, and counts
    in every average like a score. Raises ConfigError for invalid settings, and for a judge that refuses every question.
    """
    stated = _standards(ground_truth, extra_info)
    if stated.rules is not None:
        return verif(data_source, solution_str, ground_truth, extra_info, on_failure=on_failure, **settings)
    criteria = isinstance(stated.rubric, Rubric)
    usual = {"protocol": "checklist" if criteria else "pointwise"}
    judge, scorer = _scorer(_as_text({**usual, **settings, "absolute": True}))
    rubric, reference = stated.rubric, reference_text(stated)
    if reference and not isinstance(rubric, Rubric):
        rubric = rubric_text_with_reference(rubric or judge.settings.standards, reference)
    common = {"context": _messages(_prompt(ground_truth, extra_info)), "rubric": rubric}
    return _scored(judge, scorer, common, solution_str, data_source, on_failure=on_failure)


def rubric_batch(
    data_source: object,
    solution_str: str,
    ground_truth: object = None,
    extra_info: Mapping[str, Any] | None = None,
    *,
    on_failure: float | None = None,
    **settings: Any,
) -> float | dict[str, Any]:
    """Grade a response in verl by its row's criteria: points of met ones divided by all positive points, at least 0.

    The criteria and the prompt are ``extra_info.reward_model.rubrics`` and ``extra_info.prompt``. verl's reward loop
    gets ``{"score", "acc", "ground_truth"}``. ``main_eval`` passes no ``extra_info`` and gets the score;
    ``ground_truth`` is then an object, or its JSON text, with ``prompt`` and ``rubrics``. ``settings`` are options of
    ``calipers.Judge``, including ``judge``. Raises InputError for a row without criteria. If there is no score, it acts
    as ``compute_score`` does.
    """
    stated = _standards(ground_truth, extra_info)
    if not isinstance(stated.rubric, Rubric):
        raise InputError(f"{data_source}: {_NO_CRITERIA}{'' if extra_info else f'. {_FOR_MAIN_EVAL}'}")
    if stated.rules is not None:
        warn_unused(f"the rules in {stated.rules.place}", "verif runs them")
    common = {"context": _messages(_prompt(ground_truth, extra_info)) or [], "rubric": stated.rubric}
    table = {**settings, "recipe": "rubric_batch"}
    score = _scored(*_scorer(_as_text(table)), common, solution_str, data_source, on_failure=on_failure)
    return score if extra_info is None else {"score": score, "acc": score > 0.5, "ground_truth": ground_truth}


def verif(
    data_source: object,
    solution_str: str,
    ground_truth: object = None,
    extra_info: Mapping[str, Any] | None = None,
    *,
    rules: RulesAs = "code",
    on_failure: float | None = None,
    **settings: Any,
) -> float:
    """Score a response in verl as VerIF does: by the share of rules that it follows, or 0 if the judge finds that it
    does not fulfil the part of the instruction for which there are no rules.

    ``ground_truth`` has ``checkers`` and ``functions``, or IFEval's ``instruction_id_list`` and ``kwargs``, as an
    object or its JSON text (else ``extra_info`` has them). The prompt is the field ``prompt``, ``instruction``,
    ``prompt_str``, ``prompt_text`` or ``question`` of the object, or of ``extra_info``. Rules run in a sandbox. With
    ``rules="judge"`` the judge assesses their wording instead, and ``"ignore"`` drops them. All other arguments are as
    for ``rubric_batch``. Raises InputError for a row that cannot be read, or that has something to judge but no prompt.
    """
    stated = _standards(ground_truth, extra_info)
    truth = truth_with_rules(stated, ground_truth)
    if stated.rubric is not None:
        warn_unused(f"the rubric in {stated.rubric_place}", "rubric_batch grades by it")
    prompt = _prompt(ground_truth, extra_info)
    require_one_of(get_args(RulesAs), rules=rules)
    if prompt is None and read_constraints(truth, rules=rules).soft:
        raise InputError(
            f"{data_source}: a judge must know what was asked, and extra_info has no "
            f"{' or '.join(_PROMPTS)}. +calipers.recipe=verif in verl's agent loop sees every prompt. {_FOR_MAIN_EVAL}"
        )
    common = {"context": _messages(prompt) or [], "ground_truth": truth}
    table = {**settings, "recipe": "verif", "rules": rules}
    return _scored(*_scorer(_as_text(table)), common, solution_str, data_source, on_failure=on_failure)


def group_scorer(settings: VerlSettings, judge: Judge) -> Judge | Hybrid:
    """Return the scorer of whole groups for the settings' recipe: the judge alone, or with a row's rules."""
    if settings.recipe != "verif":
        return judge
    checks = partial(_constraints, rules=settings.rules)
    return Hybrid(judge, checks=checks, combine="verif_code", gates=[has_answer])


def logged_acc(reward: float, recipe: Recipe) -> float:
    """Return what verl logs as ``acc``: for a rubric whether the reward is above 0.5; for VerIF, the reward itself."""
    return float(reward > 0.5) if recipe == "rubric_batch" else reward


def _scored(
    judge: Judge,
    scorer: Judge | Hybrid,
    common: Mapping[str, Any],
    solution: str,
    data_source: object,
    *,
    on_failure: float | None,
) -> float:
    if on_failure is not None and (
        isinstance(on_failure, bool) or not isinstance(on_failure, int | float) or not math.isfinite(on_failure)
    ):
        raise ConfigError(f"on_failure={on_failure!r}: it must be a finite number; without it, a failure raises")
    group = as_group({**common, "trajectories": [{"messages": [assistant_message(solution)]}]})
    (row,) = run_coroutine(_judged(judge, scorer, group)).trajectories
    if row.reward is not None and row.score is not None:
        return row.reward
    if on_failure is None:
        raise CalipersError(f"a response of {data_source} got no score: {row.status}: {row.reason}")
    return float(on_failure)


async def _judged(judge: Judge, scorer: Judge | Hybrid, group: TrajectoryGroup) -> GroupResult:
    result = await scorer.score_group(group)
    await judge.require_answering()  # also with on_failure: the average of a whole evaluation would be that number
    return result


@once_per_process(maxsize=8)
def _scorer(table: str) -> tuple[Judge, Judge | Hybrid]:
    """Return the judge and the scorer that all responses with the same settings share."""
    settings = read_settings(json.loads(table))
    judge = make_judge(settings)
    return judge, group_scorer(settings, judge)


def _as_text(settings: Mapping[str, Any]) -> str:
    """Return verl's ``reward_kwargs`` as text, equal for all responses. Raises ConfigError for what is no setting."""
    given = {key: value for key, value in settings.items() if key not in _VERL_ARGUMENTS}
    given = with_router(given, settings.get("reward_router_address"))
    return json.dumps(given, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    """Return OmegaConf's tables and lists as plain dicts and lists."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Iterable):
        return list(value)
    raise ConfigError(f"{value!r} cannot be a setting of a judge: settings are text, numbers, lists and tables")


def _standards(ground_truth: object, extra_info: Mapping[str, Any] | None) -> Standards:
    return standards_of_row({"reward_model": {"ground_truth": ground_truth}, "extra_info": extra_info})


def _prompt(ground_truth: object, extra_info: Mapping[str, Any] | None) -> Any:
    """Return the prompt of a row, as text or messages, or None if there is none."""
    for source in (ground_truth_object(plain_data(ground_truth)) or {}, extra_info or {}):
        prompt = next((source[key] for key in _PROMPTS if source.get(key) is not None), None)
        if prompt is not None:
            return [prompt] if isinstance(prompt, Mapping) else plain_data(prompt)
    return None


def _messages(prompt: Any) -> Any:
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt


def _constraints(group: TrajectoryGroup, *, rules: RulesAs) -> Constraints:
    asked = "\n".join(str(message.get("content") or "") for message in group.context)
    return read_constraints(group.extra["ground_truth"], instruction=asked, rules=rules)
