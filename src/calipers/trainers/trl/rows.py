"""Convert the arguments of a TRL reward function (prompts, completions, dataset columns) to rows, grouped by position.

TRL shows reward functions neither tools nor, before 1.0, environments. The tools are found on the trainer that makes
the call. TRL is never imported.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from calipers.errors import ConfigError, InputError
from calipers.inputs.parts import openai_tool_definitions
from calipers.trainers.rows import Images, is_nan, prompt_messages, rubric_of_value, split_reasoning
from calipers.trainers.run import Row
from calipers.types import Tool

Prompts: TypeAlias = Literal["same", "extended", "unknown"]
"""Whether the prompts of a group are equal, or environments have extended them; unknown where no state is passed."""


def completion_rows(
    prompts: Sequence[Any],
    completions: Sequence[Any],
    columns: Mapping[str, Any],
    *,
    rubrics: Sequence[Any] | None = None,
    references: Sequence[Any] | None = None,
) -> list[Row]:
    """Return a row per completion, without its group. ``rubrics`` and ``references`` are dataset columns, or None.

    A completion that cannot be read is the policy's fault, and gets no score. Raises InputError for faults of the data
    set: a prompt that cannot be read, a rubric that is neither text nor criteria, a column of another length.
    """
    count = len(prompts)
    for name, column in (("completions", completions), ("rubrics", rubrics), ("references", references)):
        if column is not None and len(column) != count:
            raise InputError(f"there are {count} prompts but {len(column)} {name}")
    had, images = _tools_of_rows(columns, count), Images()
    return [
        Row(
            None,
            _member(completions[at], images) | ({"tools": had[at]} if had[at] is not None else {}),
            prompt_messages(images.to_urls(prompts[at])),
            None if rubrics is None else rubric_of_value(rubrics[at], f"row {at + 1}: its rubric"),
            None if references is None else references[at],
        )
        for at in range(count)
    ]


def grouped_rows(
    batch: Sequence[Row],
    size: int,
    *,
    prompts: Prompts = "same",
    label: str = "",
    extra: Mapping[str, Any] | None = None,
) -> list[Row]:
    """Return the rows in groups of ``size`` neighbours each.

    A group's id has the positions of its rows in the batch, from 1, after ``label``; ``extra`` is recorded with it.
    Raises ConfigError if the batch does not consist of whole groups, or if a group certainly has rollouts of different
    prompts: then ``size`` or the order of the rows is not the trainer's.
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
    rows: list[Row] = []
    for number, members in enumerate(parts):
        where = f"rows {number * size + 1}-{(number + 1) * size}"
        shared = all(row.prompt == members[0].prompt for row in members)
        if not shared and prompts != "extended":
            certain = prompts == "same" or any(in_groups[repr(row.prompt)] > 1 for row in members)
            _refuse_mixed(where, size, certain=certain)
        named = (replace(row, key=number, name=f"{label}{where}", extra=dict(extra or {})) for row in members)
        rows += named if shared else map(_with_prompt, named)
    return rows


def _refuse_mixed(where: str, size: int, *, certain: bool) -> None:
    if certain:
        raise ConfigError(
            f"{where} of the batch have different prompts, so they are no group: num_generations={size} is not the "
            "trainer's group size, or the rows of a prompt are not neighbours (in evaluation the size is "
            "num_generations_eval; TRL before 1.0 does not pass it to reward functions: keep them equal there)"
        )
    warnings.warn(
        f"rows of one group have different prompts ({where}): if no environment extended them, they are not answers to "
        f"the same question, and num_generations={size} is wrong",
        stacklevel=2,
    )


def _with_prompt(row: Row) -> Row:
    """Return a row whose prompt is part of its trajectory, because its siblings have others."""
    assert isinstance(row.member, Mapping)  # noqa: S101 - made above
    return replace(row, member={**row.member, "messages": [*row.prompt, *row.member["messages"]]}, prompt=())


def _member(completion: Any, images: Images) -> dict[str, Any]:
    if isinstance(completion, str):
        completion = [{"role": "assistant", "content": completion}]
    try:
        shown = images.to_urls(completion)
    except InputError:
        shown = completion  # and is refused with its image
    if not isinstance(shown, list | tuple):
        shown = [shown]
    return {"messages": [split_reasoning(one) if isinstance(one, Mapping) else one for one in shown]}


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
