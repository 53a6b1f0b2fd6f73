"""The judge that verl's configuration describes, and what it is shown: verl's rows, and the rollouts of agent loops.

verl is not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import groupby
from typing import Any, Final, get_args

from calipers.config.arguments import require_above_zero, require_one_of, require_whole
from calipers.config.option import did_you_mean
from calipers.config.options import flat_options
from calipers.errors import ConfigError, InputError
from calipers.inputs.plain import plain_data
from calipers.judging.hybrid import Hybrid
from calipers.judging.judge import Judge
from calipers.monitoring.monitor import Monitor
from calipers.rubric.dataset_standards import text_of_reference
from calipers.trainers.rows import (
    Images,
    rubric_text_with_reference,
    standards_of_row,
    step_fields,
    version_metadata,
    warn_unused,
)
from calipers.trainers.run import PATIENCE, Lasting
from calipers.types import Message, Rubric, TrajectoryGroup
from calipers.verifiers import has_answer
from calipers.verifiers.constraints import Constraints, RulesAs, own_constraints

CONCURRENCY: Final = 128
"""The most concurrent judge calls in the whole run, unless ``concurrency`` is given."""

Decode = Callable[[list[int]], str]
"""A function that turns token ids into text, without special tokens."""

_PYTHON_ONLY: Final = frozenset({"parse", "watchers"})
_PLACE: Final = (
    "reward_model or extra_info. main_eval passes reward_model.ground_truth and nothing else of a row: "
    "calipers generate -o OUT.parquet writes all that a row requires into it"
)


# --- the table of verl's configuration


@dataclass(frozen=True, slots=True)
class VerlSettings:
    """Settings for verl. ``judge`` are a Judge's options; the other fields describe groups and rows.

    ``min_group`` is the number of a prompt's rollouts that must be scored before any of them is trained on.
    ``patience`` counts the lost groups of one worker. ``monitor`` watches the judge and writes alarms to stderr.
    ``reference`` adds each row's ``reward_model.ground_truth`` to the question. With ``rules``, rows are scored as in
    VerIF, and ``rules`` says what happens to those of a row.
    """

    judge: Mapping[str, Any]
    min_group: int = 2
    reference: bool = False
    rules: RulesAs | None = None
    patience: Lasting = PATIENCE
    monitor: bool = False

    @property
    def grades(self) -> bool:
        """Return whether the judge checks criteria, which a single rollout has as well as a group."""
        return self.judge.get("protocol") == "checklist"

    @property
    def absolute(self) -> bool:
        """Return whether the judge also scores single rollouts."""
        return self.grades or self.judge.get("absolute") is True


_OWN_KEYS: Final = frozenset(field.name for field in fields(VerlSettings)) - {"judge"}


def read_settings(table: object) -> VerlSettings:
    """Return the settings in the plain table for verl. Raises ConfigError for unknown keys and invalid values.

    With ``rules``, the judge gives one bit for all soft constraints of a row, unless the table says otherwise.
    """
    table = _known_keys(table)
    # +calipers.patience=null is for ever; any other null is the default.
    arguments = {
        key: value for key, value in table.items() if key in _OWN_KEYS and (value is not None or key == "patience")
    }
    judge = {key: value for key, value in table.items() if key not in _OWN_KEYS}
    if "rules" in arguments:
        require_one_of(get_args(RulesAs), rules=arguments["rules"])
        grading = judge.get("grading", {})
        merged = {"normaliser": "all_or_nothing", **grading} if isinstance(grading, Mapping) else grading
        judge = {"protocol": "checklist", **judge, "grading": merged}
    settings = VerlSettings(judge, **arguments)
    numbers = {name: arguments[name] for name in ("min_group", "patience") if name in arguments}
    require_whole(**numbers)
    require_above_zero(**numbers)
    if settings.min_group < 2 and not settings.absolute:
        raise ConfigError(
            f"+calipers.min_group={settings.min_group}: a single rollout has nothing to be compared with, and verl "
            "would use its reward as its advantage; make it 2 or more"
        )
    for name in ("reference", "monitor"):
        if not isinstance(getattr(settings, name), bool):
            raise ConfigError(f"+calipers.{name}={getattr(settings, name)!r}: it must be true or false")
    return settings


def _known_keys(table: object) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise ConfigError(
            "verl's configuration names no judge: add +calipers.judge=openai/gpt-5-mini (and, as further "
            "+calipers.KEY=, any other option in docs/options.md)"
        )
    if "api_key" in table:
        raise ConfigError(
            "+calipers.api_key: verl prints and stores its configuration, so set keys in the environment of every "
            "node, as in: export OPENAI_API_KEY=..."
        )
    known = flat_options().keys() | _OWN_KEYS
    for key in map(str, table):
        if key in _PYTHON_ONLY:
            raise ConfigError(
                f"+calipers.{key}: this option is a Python object, which verl's configuration cannot hold"
            )
        if key not in known:
            raise ConfigError(f"+calipers.{key}: unknown.{did_you_mean(key, known - _PYTHON_ONLY)}")
    if not isinstance(table.get("judge"), str | list) or not table["judge"]:
        raise ConfigError(f"+calipers.judge={table.get('judge')!r}: it must be a judge's name, as in openai/gpt-5-mini")
    return table


def make_judge(settings: VerlSettings, *, workers: int = 1) -> Judge:
    """Return the judge of one of verl's ``workers`` processes, with its share of the run's limits and budget."""

    def share(amount: Any) -> Any:
        if isinstance(amount, float):
            return amount / workers
        # What is no limit is left as it is, for the Judge to refuse.
        return max(1, amount // workers) if type(amount) is int and amount > 0 else amount

    arguments = {"concurrency": CONCURRENCY, **settings.judge}
    arguments |= {name: share(arguments[name]) for name in ("concurrency", "requests_per_minute") if name in arguments}
    if isinstance(budget := arguments.get("budget"), Mapping):
        arguments["budget"] = {key: share(value) for key, value in budget.items()}
    return Judge.of({**arguments, "watchers": [Monitor()] if settings.monitor else ()})


# --- rows and rollouts


def common_group_fields(row: Mapping[str, Any], settings: VerlSettings, *, rubric: str) -> dict[str, Any]:
    """Return what all rollouts of a row share, as the fields of a group; ``rubric`` is the judge's own.

    A row's rubric may be in any field where data sets store it: ``rubric``, ``extra_info.rubric``, RuscaRL's
    ``reward_model.rubrics``. Raises InputError for what cannot be read, for a row without rules if ``settings`` have
    ``rules``, and for one without criteria if the judge can do nothing else and has none of its own.
    """
    common = {"context": Images().to_urls(list(row["raw_prompt"]))}
    if "uid" in row:
        common["group_id"] = str(row["uid"])
    stated = standards_of_row(row)
    if settings.rules is not None:
        if stated.rules is None:
            raise InputError(f"the row has no rules, such as checkers and functions in {_PLACE}")
        if stated.rubric is not None:
            warn_unused(f"the rubric in {stated.rubric_place}", "without rules= the judge scores by it")
        return {**common, "constraints": stated.rules.value}
    if stated.rules is not None:
        warn_unused(f"the rules in {stated.rules.place}", "rules=code runs them")
    if isinstance(stated.rubric, Rubric):
        return {**common, "rubric": stated.rubric}
    if settings.grades and settings.judge.get("rubric") is None:
        raise InputError(f"the row has no criteria, such as rubrics in {_PLACE}")
    reference = stated.reference if settings.reference else None
    answer = "" if reference is None else text_of_reference(plain_data(reference.value))
    text = rubric_text_with_reference(stated.rubric or rubric, answer) if answer else stated.rubric
    return {**common, "rubric": text}


def group_scorer(settings: VerlSettings, judge: Judge) -> Judge | Hybrid:
    """Return the scorer of whole groups: the judge alone, or with the rows' rules, as in VerIF's code."""
    if settings.rules is None:
        return judge
    return Hybrid(
        judge, checks=partial(row_constraints, rules=settings.rules), combine="verif_code", gates=[has_answer]
    )


def row_constraints(group: TrajectoryGroup, *, rules: RulesAs) -> Constraints:
    """Return the constraints that ``common_group_fields`` put into a group. Raises InputError for an invalid one."""
    return own_constraints(group, rules=rules) or Constraints()


def step_of_row(row: Mapping[str, Any], *, validate: bool) -> dict[str, Any]:
    """Return what a group records of verl's step, which counts from 1 and validates after its update."""
    step = row.get("global_steps")
    if step is None:
        return {}
    return step_fields(int(step) if validate else max(0, int(step) - 1), training=not validate)


def member_of_outputs(
    outputs: Sequence[Any], name: object, decode: Decode, *, limit: int | None = None
) -> dict[str, Any]:
    """Return a rollout, a sequence of ``AgentLoopOutput``, as a trajectory with the policy's and the tools' messages.

    An agent loop may store the messages of a rollout (without the prompt's) in ``extra_fields["messages"]``; otherwise
    they are decoded from its tokens. A rollout of ``limit`` tokens was cut off.
    """
    noted = [output.extra_fields.get(key) for output in outputs for key in ("min_global_steps", "max_global_steps")]
    fields_of_member = {"id": str(name)} | version_metadata(*noted)
    stored = outputs[-1].extra_fields.get("messages")
    if stored is not None:
        return {**fields_of_member, "messages": stored}
    messages = [message for output in outputs for message in _turns(output, decode)]
    if messages and limit is not None and len(outputs[-1].response_ids) >= limit:
        messages[-1] = {**messages[-1], "finish_reason": "length"}
    return {**fields_of_member, "messages": messages}


def _turns(output: Any, decode: Decode) -> Iterable[Message]:
    tokens, mask = output.response_ids, output.response_mask
    for wrote, run in groupby(zip(mask, tokens, strict=False), key=lambda pair: bool(pair[0])):
        text = decode([token for _, token in run])
        yield {"role": "assistant" if wrote else "tool", "content": text}
