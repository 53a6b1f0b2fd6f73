"""Reward functions of RuscaRL's and VerIF's kind as configurations of calipers: their columns, their figures.

``rubric_batch`` grades a row's weighted criteria, all of them in one question an answer; ``verif`` runs a row's rules and
asks a judge about the rest. Needs neither verl nor Ray. Not responsible for how verl comes to them: its agent loop
(``verl_agent_loop``) or the functions at the end of this file, which are verl's ``custom_reward_function``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, Final

from calipers.arguments import require_whole
from calipers.errors import ConfigError, InputError
from calipers.hybrid import Hybrid
from calipers.judge import Judge
from calipers.readers import as_group
from calipers.readers.plain import plain
from calipers.trainers import blocking
from calipers.trainers.images import Images
from calipers.trainers.thoughts import thought_apart
from calipers.trainers.verl_eval import as_key, as_messages, require_number, reward_of
from calipers.trainers.verl_rows import criteria_of, group_of
from calipers.trainers.verl_settings import Recipe, VerlSettings, make_judge, read_settings
from calipers.types import TrajectoryGroup
from calipers.verifiers import has_answer
from calipers.verifiers.constraints import Constraints, RulesAs, read_constraints

_PROMPTS: Final = ("prompt", "instruction", "prompt_str", "prompt_text")
"""Where ``extra_info`` may have what was asked, the first that is there."""


def scorer_of(settings: VerlSettings, judge: Judge) -> Judge | Hybrid:
    """What scores a whole group by the settings' recipe: the judge itself, or with the row's rules before it."""
    if settings.recipe != "verif":
        return judge
    checks = partial(_constraints, rules=settings.rules)
    return Hybrid(judge, checks=checks, combine="verif_code", gates=[has_answer])


def head_of(row: Mapping[str, Any], settings: VerlSettings, *, rubric: str) -> dict[str, Any]:
    """What all rollouts of a row have in common, as a group; ``rubric`` is the judge's own. Raises InputError."""
    if settings.recipe is None:
        return group_of(row, rubric=rubric, reference=settings.reference)
    head = {"group_id": str(row["uid"]), "context": Images().to_urls(list(row["raw_prompt"]))}
    if settings.recipe == "rubric_batch":
        return {**head, "rubric": _criteria(row)}
    model = row.get("reward_model")
    return {**head, "ground_truth": _truth(model.get("ground_truth") if isinstance(model, Mapping) else None)}


def acc_of(reward: float, recipe: Recipe) -> float:
    """What verl logs as ``acc``: for a rubric whether more than half was reached, for VerIF the reward itself."""
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
    """A response graded by its row's criteria: points met over positive points, 0 if below, in [0, 1].

    The criteria and the prompt are ``extra_info.reward_model.rubrics`` and ``extra_info.prompt``. verl's reward loop gets
    ``{"score", "acc", "ground_truth"}``; ``main_eval``, which averages floats and has no ``extra_info``, the score, and
    there ``ground_truth`` is an object with ``prompt`` and ``rubrics``. ``settings`` are the arguments of
    ``calipers.Judge``, ``judge`` among them; ``max_workers_per_url`` calls may be in flight to each of its ``base_url``s.

    Raises InputError for a row without criteria, and as ``compute_score`` where there is no score.
    """
    told = _object(ground_truth)
    own = extra_info if extra_info is not None else {"reward_model": told, **told}
    head = {"context": as_messages(_prompt(own)), "rubric": _criteria({"extra_info": own})}
    table = {**settings, "recipe": "rubric_batch", **_in_flight(settings, max_workers_per_url)}
    score = _scored(head, solution_str, data_source, table=table, on_failure=on_failure)
    if extra_info is None:
        return score
    return {"score": score, "acc": score > 0.5, "ground_truth": ground_truth}


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
    """A response by VerIF's program: the share of rules it follows, times whether a judge finds all else fulfilled.

    ``ground_truth`` has ``checkers`` and ``functions``, as an object or its JSON text; what was asked is ``prompt``,
    ``instruction``, ``prompt_str`` or ``prompt_text`` of ``extra_info``, or of the object. ``skip_rules`` has the judge
    weigh the rules' wording instead of running them, ``ignore_rules`` drops them; rules run in a sandbox. The rest is as
    for ``rubric_batch``.

    Raises InputError for a row that cannot be read, or that has something to judge and no prompt, and as
    ``compute_score`` where there is no score: a rule that crashed is none.
    """
    rules: RulesAs = "ignore" if ignore_rules else "judge" if skip_rules else "code"
    truth = _truth(ground_truth)
    prompt = _prompt({**_object(ground_truth), **(extra_info or {})})
    if prompt is None and read_constraints(truth, rules=rules).soft:
        raise InputError(
            f"{data_source}: a judge is to say whether the response does what was asked, and extra_info has no "
            f"{' or '.join(_PROMPTS)}. +calipers.recipe=verif in verl's agent loop sees every prompt"
        )
    head = {"context": as_messages(prompt) or [], "ground_truth": truth}
    table = {**settings, "recipe": "verif", "rules": rules, **_in_flight(settings, max_workers_per_url)}
    return _scored(head, solution_str, data_source, table=table, on_failure=on_failure)


def _scored(
    head: Mapping[str, Any],
    solution: str,
    data_source: object,
    *,
    table: Mapping[str, Any],
    on_failure: float | None,
) -> float:
    require_number(on_failure)
    answer = thought_apart({"role": "assistant", "content": solution})
    group = as_group({**head, "trajectories": [{"messages": [answer]}]})
    (row,) = blocking.run(_scorer(as_key(table)).score_group(group)).trajectories
    return reward_of(row, data_source, on_failure=on_failure)


@lru_cache(maxsize=8)
def _scorer(table: str) -> Judge | Hybrid:
    """One judge for all responses that are scored alike."""
    settings = read_settings(json.loads(table))
    return scorer_of(settings, make_judge(settings))


def _in_flight(settings: Mapping[str, Any], per_url: int | None) -> dict[str, int]:
    require_whole(max_workers_per_url=per_url)
    if per_url is None:
        return {}
    if "concurrency" in settings:
        raise ConfigError(
            "concurrency and max_workers_per_url both say how many calls may be in flight: give one of them"
        )
    urls = settings.get("base_url")
    return {"concurrency": per_url * (1 if urls is None or isinstance(urls, str) else max(1, len(urls)))}


def _constraints(group: TrajectoryGroup, *, rules: RulesAs) -> Constraints:
    asked = "\n".join(str(message.get("content") or "") for message in group.context)
    return read_constraints(group.extra["ground_truth"], instruction=asked, rules=rules)


def _criteria(row: Mapping[str, Any]) -> Any:
    rubric = criteria_of(row)
    if rubric is None:
        raise InputError(
            "the row has no criteria: they are expected in extra_info.reward_model.rubrics, as RuscaRL has them"
        )
    return rubric


def _truth(value: object) -> Any:
    if not isinstance(value, str | Mapping) or not value:
        raise InputError("the row has no reward_model.ground_truth with checkers and functions, as VerIF has it")
    return plain(value)


def _object(value: object) -> Mapping[str, Any]:
    """A ground truth that is an object or its JSON text; empty where it is neither."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except ValueError:
            return {}  # what is wrong with it is said where it is read
    return value if isinstance(value, Mapping) else {}


def _prompt(told: Mapping[str, Any]) -> Any:
    prompt = next((told[key] for key in _PROMPTS if told.get(key) is not None), None)
    return [prompt] if isinstance(prompt, Mapping) else plain(prompt)
