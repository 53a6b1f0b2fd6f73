"""Everything that is wrong with a plan of a study on a cluster, as far as it shows without a GPU.

Not responsible for verl's own view of its settings (``verl_check``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from calipers.config.flat_names import option_problems
from calipers.config.option import did_you_mean
from calipers.errors import ConfigError
from calipers.judging.judge import Judge
from calipers.study.export.data_sets import data_sets
from calipers.study.export.overrides import InStudy, overrides_file
from calipers.study.export.plan import (
    IFEVAL,
    Plan,
    addresses_of,
    audit_name,
    provider_and_model,
    repeated_names,
)
from calipers.study.export.run_settings import (
    BATCH,
    GROUP_SIZE,
    LONGEST_RESPONSE,
    MINI_BATCH,
    TENSOR_PARALLEL,
    Run,
    all_settings,
    calipers_settings,
)
from calipers.study.tables import Problem
from calipers.trainers.verl.settings import read_scaffold, read_settings

_COUNTS: Final = (BATCH, GROUP_SIZE, MINI_BATCH, TENSOR_PARALLEL, LONGEST_RESPONSE)
_INSTEAD_OF_KEYS: Final = {"api_key": "unset"}
"""A judge is made, and never asked, so its key may be missing where the study is exported."""


def problems_of_plan(plan: Plan) -> list[Problem]:
    """Return every reason why a plan cannot work, each as a sentence for its user."""
    found = [*plan.study.problems, *plan.layout.problems, *_problems_of_data(plan)]
    found += [Problem(f"two runs have the name {name!r}: name their arms differently") for name in repeated_names(plan)]
    found += _problems_of_evaluation(plan)
    for arm in plan.study.arms.arms:
        found += _problems_of_server(arm.judge, arm.model, arm.options, plan)
    found += _problems_of_audit(plan)
    used = {arm.judge for arm in plan.study.arms.arms} | {plan.study.evaluator}
    evaluator = plan.study.settings.evaluator
    if not plan.study.unread and "evaluator" not in plan.study.guessed and evaluator in {None, *plan.study.judges}:
        unused = "no arm asks this judge, and it is not the evaluator"
        found += [
            Problem(f"[cluster.serve.{name}]: {unused}", ("cluster", "serve", name))
            for name in plan.layout.servers
            if name not in used
        ]
    certain = not plan.study.problems and not plan.layout.problems
    for run in plan.runs:
        place = ("arms", run.arm.name)
        found += [Problem(f"{run.name}: {one}", place) for one in _problems_of_run(run, plan, certain=certain)]
    if not plan.runs:
        found += _problems_without_runs(plan)
    return list(dict.fromkeys(found))


def _problems_without_runs(plan: Plan) -> Iterator[Problem]:
    """Yield what is wrong with judges' options and [cluster.calipers], where it is unknown what would be trained."""
    for arm in plan.study.arms.arms:
        for problem in option_problems(arm.options):
            yield Problem(f"arm {arm.name!r}: {problem}", ("arms", arm.name))
    for key, value in (plan.study.settings.calipers or {}).items():
        place = ("cluster", "calipers", key)
        try:
            read = read_settings({"judge": "openai/any", "recipe": "verif", key: value})
            yield from (Problem(f"[cluster.calipers]: {one}", place) for one in option_problems(read.judge))
        except ConfigError as error:
            yield Problem(f"[cluster.calipers]: {error}", place)


def _problems_of_data(plan: Plan) -> Iterator[Problem]:
    settings, known = plan.study.settings, data_sets()
    trained = known.get(settings.data)
    problem = ""
    if trained is None:
        problem = f"{settings.data!r} is no data set of the study.{did_you_mean(settings.data, known)}"
    elif not trained.is_trained_on:
        usable = ", ".join(name for name, one in known.items() if one.is_trained_on)
        problem = f"{trained.title} is only for evaluation; train on one of {usable}"
    elif not trained.has_rules and (verif := [one.name for one in plan.study.recipes if one.form == "verif"]):
        problem = f"{trained.title} has no rules, which {', '.join(verif)} needs; verinstruct has"
    if problem:
        yield Problem(f"[cluster] data: {problem}", ("cluster", "data"))
    for name in settings.evaluate:
        if name != IFEVAL and name not in known:
            problem = f"{name!r} is no data set of the study.{did_you_mean(name, {*known, IFEVAL})}"
            yield Problem(f"[cluster] evaluate: {problem}", ("cluster", "evaluate"))


def _problems_of_evaluation(plan: Plan) -> Iterator[Problem]:
    name, place = plan.study.evaluator, ("cluster", "evaluator")
    judge = plan.study.judges.get(name) if name is not None else None
    if judge is None or not any(data_sets()[one].judged for one in plan.rubric_sets if one in data_sets()):
        return
    if judge.model is None:
        problem = f"judge {name!r} is simulated, and cannot grade a trained policy's responses"
        yield Problem(f"[cluster] evaluator: {problem}", place)
        return
    yield from _problems_of_server(str(name), judge.model, judge.options or {}, plan)
    try:
        Judge.of({"judge": judge.model, **(judge.options or {}), **_graded(), **_INSTEAD_OF_KEYS}).close()
    except ConfigError as error:
        yield Problem(f"[cluster] evaluator: judge {name!r}: {error}", ("judges", str(name)))


def _problems_of_audit(plan: Plan) -> Iterator[Problem]:
    name, auditor = audit_name(plan.study), plan.study.training.auditor
    if name is None or auditor is None:
        return
    model = str(auditor.judge.model)
    addresses = addresses_of(model, auditor.options)
    others = [arm.name for arm in plan.study.arms.arms if arm.judge != name]
    if provider_and_model(model)[0] == "vllm" and not addresses and others:
        problem = (
            f"[audit]: judge {name!r} is served on the node at most while its own arms are trained, and not for "
            f"{', '.join(others)}: give it a base_url among its options, or name another judge"
        )
        yield Problem(problem, ("audit", "judge"))
    yield from _problems_of_address(name, addresses)
    try:
        Judge.of({"judge": model, **auditor.options, **_INSTEAD_OF_KEYS}).close()
    except ConfigError as error:
        yield Problem(f"[audit]: judge {name!r}: {error}", ("judges", name))


def _problems_of_address(judge: str, addresses: Sequence[str]) -> Iterator[Problem]:
    if any("@" in urlsplit(url).netloc for url in addresses):
        problem = f"judge {judge!r}: its address has a user or a password, which would be written to files"
        yield Problem(problem, ("judges", judge))


def _graded() -> dict[str, Any]:
    return {"protocol": "checklist"}


def _problems_of_server(judge: str, model: str, options: Mapping[str, Any], plan: Plan) -> Iterator[Problem]:
    """Yield what is wrong with where a judge of a cluster's runs is reached."""
    addresses = addresses_of(model, options)
    yield from _problems_of_address(judge, addresses)
    is_vllm = provider_and_model(model)[0] == "vllm"
    is_served = "serve" in plan.study.guessed or judge in (plan.study.settings.serve or {})
    if is_vllm and not is_served and not addresses:
        problem = (
            f"judge {judge!r}: nothing serves {model}: write [cluster.serve.{judge}], or give the judge a base_url "
            "among its options"
        )
        yield Problem(problem, ("judges", judge))


def _problems_of_run(run: Run, plan: Plan, *, certain: bool) -> Iterator[str]:
    """Yield what is wrong with a run; only if the plan is ``certain``, also with how it shares the node."""
    study = plan.study
    try:
        settings = all_settings(run, study.settings, study.variants)
        overrides_file(settings)
    except ConfigError as error:
        yield str(error)
        return
    except (TypeError, ValueError) as error:
        yield f"its settings do not fit together: {error}"
        return
    if not run.recipe.compares and "protocol" in run.arm.options:
        grades = run.recipe.name
        yield f"its arm sets protocol, but {grades} grades by criteria; the recipe compare asks as the arm says"
    else:
        yield from _problems_of_rewards(run, plan, settings[GROUP_SIZE])
    no_counts = [name for name in _COUNTS if not _is_count(settings[name])]
    yield from (f"{name}={settings[name]!r}: it must be a whole number above 0" for name in no_counts)
    if certain and not no_counts:
        yield from _problems_of_batches(run, settings)


def _problems_of_rewards(run: Run, plan: Plan, group_size: int) -> Iterator[str]:
    settings = plan.study.settings
    table = calipers_settings(run, settings, group_size=group_size)
    plain = {key: value for key, value in table.items() if not isinstance(value, InStudy)}
    problem = _problem_of_table(plain, settings.steps)
    if not problem:
        return
    single = [
        _problem_of_table({**run.recipe.calipers, "judge": run.arm.model, key: value}, settings.steps)
        for key, value in plain.items()
    ]
    yield from [one for one in single if one] or [problem]


def _problem_of_table(table: Mapping[str, Any], steps: int) -> str:
    """Return why verl's table ``calipers`` cannot be used, "" if it can."""
    try:
        read = read_settings(table)
        if read.scaffold is not None:
            read_scaffold(read.scaffold, total_steps=steps)
        Judge.of({**read.judge, **_INSTEAD_OF_KEYS}).close()
    except ConfigError as error:
        return str(error)
    return ""


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _problems_of_batches(run: Run, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield where verl could not divide a run's batches or its GPUs evenly."""
    gpus, responses = len(run.slot.gpus), settings[BATCH] * settings[GROUP_SIZE]
    if responses % gpus:
        yield (
            f"a batch has {settings[BATCH]} prompts × {settings[GROUP_SIZE]} responses, which {gpus} GPUs "
            "cannot share evenly"
        )
    if settings[MINI_BATCH] > settings[BATCH]:
        yield f"{MINI_BATCH}={settings[MINI_BATCH]} is larger than {BATCH}={settings[BATCH]}"
    if settings[GROUP_SIZE] < 2:
        yield f"{GROUP_SIZE}={settings[GROUP_SIZE]}: GRPO compares the responses to a prompt, so it must be 2 or more"
    if gpus % settings[TENSOR_PARALLEL]:
        yield f"{TENSOR_PARALLEL}={settings[TENSOR_PARALLEL]} does not divide the run's {gpus} GPUs"
