"""Convert the arguments of a TRL reward function (prompts, completions, dataset columns) to groups, by position.

TRL shows reward functions neither tools nor, before 1.0, environments. The tools are found on the trainer that makes
the call. TRL is never imported.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from calipers.errors import ConfigError, InputError
from calipers.inputs import canonical
from calipers.inputs.parquet import without_empty_fields
from calipers.inputs.parts import openai_tool_definitions
from calipers.inputs.rubrics import plain_criteria
from calipers.rubric.dataset_standards import STANDARDS_KEYS, parse_row_rubric, read_standards
from calipers.trainers.rows import (
    Images,
    assistant_message,
    is_nan,
    rubric_text_with_reference,
    split_reasoning,
)
from calipers.types import Message, Rubric, Tool, Trajectory, TrajectoryGroup

Prompts: TypeAlias = Literal["same", "extended", "unknown"]
"""Whether the prompts of a group are equal, or environments have extended them; unknown where no state is passed."""

USUAL_RUBRIC_COLUMN: Final = "rubric"
"""The column whose rubrics are used if a data set has it. A column of another name was named, and is required."""
PROBLEM: Final = "trl_problem"
"""The key of a trajectory's metadata with the reason why its completion cannot be read."""


@dataclass(frozen=True, slots=True)
class Row:
    """A completion of a TRL batch as plain data, which can be sent to every process of a run.

    ``problem`` is the reason why the row cannot be judged. ``tools`` are the definitions of the tools that the policy
    had.
    """

    prompt: tuple[Message, ...]
    completion: tuple[Message, ...]
    rubric: str | Rubric | None = None
    reference: str | None = None
    problem: str | None = None
    tools: tuple[Tool, ...] | None = None


def completion_rows(
    prompts: Sequence[Any],
    completions: Sequence[Any],
    columns: Mapping[str, Any],
    *,
    rubrics: Sequence[Any] | None = None,
    references: Sequence[Any] | None = None,
) -> list[Row]:
    """Return a row per completion. ``rubrics`` and ``references`` are dataset columns, None if there are none.

    A completion that cannot be read is the policy's fault, and becomes a row with a ``problem``. Raises InputError for
    faults of the data set: a prompt that cannot be read, a rubric that is neither text nor criteria, a column of
    another length.
    """
    for name, column in (("completions", completions), ("rubrics", rubrics), ("references", references)):
        if column is not None and len(column) != len(prompts):
            raise InputError(f"there are {len(prompts)} prompts but {len(column)} {name}")
    had, images, rows = _tools_of_rows(columns, len(prompts)), Images(), []
    for at, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        messages, problem = _completion(completion, images)
        reference = None if references is None or references[at] in (None, "") else str(references[at])
        rubric = None if rubrics is None else rubric_from_column(rubrics[at], f"row {at + 1}: its rubric")
        rows.append(Row(_prompt(prompt, images, at + 1), messages, rubric, reference, problem, had[at]))
    return rows


def groups_of_rows(
    batch: Sequence[Row],
    size: int,
    *,
    default_rubric: str,
    prompts: Prompts = "same",
    label: str = "",
    extra: Mapping[str, Any] | None = None,
) -> list[TrajectoryGroup]:
    """Return groups of ``size`` neighbouring rows each.

    Ids are positions in the batch, from 1; a group's id begins with ``label``, and ``extra`` is recorded with it. If a
    row has a reference but no rubric, the reference is added to ``default_rubric``. Raises ConfigError if the batch
    does not consist of whole groups, or if a group certainly has rollouts of different prompts: then ``size`` or the
    order of the rows is not the trainer's.
    """
    if len(batch) % size:
        raise ConfigError(
            f"the trainer passed {len(batch)} completions, which are not whole groups of num_generations={size}: set "
            "num_generations= to the trainer's own, and make per_device_train_batch_size x processes x "
            "steps_per_generation divisible by it"
        )
    parts = [batch[start : start + size] for start in range(0, len(batch), size)]
    # Rows of one prompt are in several groups, though groups hold other prompts too: nothing extends prompts so.
    in_groups = Counter(key for part in parts for key in {repr(row.prompt) for row in part})
    groups = []
    for at, members in enumerate(parts):
        start = at * size
        where = f"rows {start + 1}-{start + size}"
        shared = all(row.prompt == members[0].prompt for row in members)
        if not shared and prompts != "extended":
            _refuse_mixed(
                members, where, certain=prompts == "same" or any(in_groups[repr(m.prompt)] > 1 for m in members)
            )
        groups.append(
            TrajectoryGroup(
                group_id=f"{label}{where}",
                context=members[0].prompt if shared else (),
                trajectories=tuple(
                    _trajectory(row, str(number), whole=not shared)
                    for number, row in enumerate(members, start=start + 1)
                ),
                rubric=_rubric(members, where, default_rubric),
                extra=dict(extra or {}),
            )
        )
    return groups


def _refuse_mixed(members: Sequence[Row], where: str, *, certain: bool) -> None:
    if certain:
        raise ConfigError(
            f"{where} of the batch have different prompts, so they are no group: num_generations={len(members)} is not "
            "the trainer's group size, or the rows of a prompt are not neighbours (in evaluation the size is "
            "num_generations_eval; TRL before 1.0 does not pass it to reward functions: keep them equal there)"
        )
    warnings.warn(
        f"rows of one group have different prompts ({where}): if no environment extended them, they are not answers to "
        f"the same question, and num_generations={len(members)} is wrong",
        stacklevel=2,
    )


def _trajectory(row: Row, name: str, *, whole: bool) -> Trajectory:
    """Return a row as a trajectory; ``whole`` includes the prompt. A row with a problem has no messages."""
    if row.problem is not None:
        return Trajectory(name, (), metadata={PROBLEM: row.problem})
    messages = row.prompt + row.completion if whole else row.completion
    return Trajectory(name, messages, tools=row.tools)


def _rubric(members: Sequence[Row], where: str, default: str) -> str | Rubric | None:
    """Return the rubric of a group. A reference is added to text only: criteria state themselves what is required."""
    first = members[0]
    if any((row.rubric, row.reference) != (first.rubric, first.reference) for row in members):
        raise ConfigError(f"{where} of the batch are one group, but have different rubrics or references")
    if first.reference is None or isinstance(first.rubric, Rubric):
        return first.rubric
    return rubric_text_with_reference(first.rubric or default, first.reference)


def _prompt(prompt: Any, images: Images, number: int) -> tuple[Message, ...]:
    if isinstance(prompt, str):
        return ({"role": "user", "content": prompt},)
    try:
        return canonical(images.to_urls(prompt))
    except InputError as error:
        raise InputError(f"the prompt of row {number}: {error}") from None


def _completion(completion: Any, images: Images) -> tuple[tuple[Message, ...], str | None]:
    if isinstance(completion, str):
        return (assistant_message(completion),), None
    try:
        messages = tuple(map(split_reasoning, canonical(images.to_urls(completion))))
    except InputError as error:
        return (), f"the completion cannot be read: {error}"
    return messages, None if messages else "the completion holds no message"


def _tools_of_rows(columns: Mapping[str, Any], rows: int) -> list[tuple[Tool, ...] | None]:
    trainer = getattr(columns.get("log_metric"), "__self__", None)
    by_environment, names = getattr(trainer, "_env_tools", None), getattr(trainer, "_batch_environments", None)
    if isinstance(by_environment, Mapping) and isinstance(names, list) and len(names) == rows:
        made = {name: _definitions(by_environment.get(name, ())) for name in set(names)}
        return [made[name] for name in names]
    shown = getattr(trainer, "tools", None)
    return [_definitions(shown) if isinstance(shown, list | tuple) else None] * rows


def _definitions(tools: Sequence[Any]) -> tuple[Tool, ...] | None:
    """Return tools as definitions; functions are described as TRL describes them to the policy."""
    definitions: list[Any] = []
    for tool in tools:
        if isinstance(tool, Mapping):
            definitions.append(tool)
        else:
            from transformers.utils import get_json_schema  # noqa: PLC0415 - TRL has it loaded, and nothing else needs it

            definitions.append(get_json_schema(tool))
    try:
        return openai_tool_definitions(definitions) if definitions else None
    except InputError as error:
        raise ConfigError(f"the tools of the trainer: {error}") from error


def rubric_from_column(value: Any, what: str) -> str | Rubric | None:
    """Return the rubric in a value of a column of a data set: text or criteria, also as JSON text.

    Criteria may be a rubric's object, a list, or an object like those of data-set rows (verl's ``reward_model``).
    Raises InputError for anything else.
    """
    if value is None or value == "":
        return None
    try:
        read = plain_criteria(value, "rubric")
        if isinstance(read, Mapping) and "criteria" not in read and not STANDARDS_KEYS.isdisjoint(read):
            return read_standards(without_empty_fields(dict(read))).rubric
        return parse_row_rubric(read, "")
    except (ConfigError, InputError) as error:
        raise InputError(f"{what} is neither text nor criteria: {error}") from None


def dataset_column(given: Mapping[str, Any], name: str | None, *, required: bool) -> Sequence[Any] | None:
    """Return a column of the data set by its name, or None. Its NaNs, as data frames show what is missing, become None.

    Raises ConfigError if a ``required`` column is missing.
    """
    if name is None or given.get(name) is None:
        if name is not None and required:
            known = ", ".join(key for key, value in given.items() if isinstance(value, list)) or "none"
            raise ConfigError(
                f"the data set has no column {name!r}; the columns that TRL passes on are: prompt, {known}"
            )
        return None
    column = given[name]
    if not isinstance(column, list | tuple):
        raise InputError(f"{name!r} is a {type(column).__name__}, not a column of the data set")
    return [None if is_nan(value) else value for value in column]
