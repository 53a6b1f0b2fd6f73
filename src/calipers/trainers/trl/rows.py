"""Convert the arguments of a TRL reward function (prompts, completions, dataset columns) to rows, grouped by position.

TRL shows reward functions no tools; they are found on the trainer that makes the call. TRL is never imported.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from calipers.errors import ConfigError, InputError
from calipers.inputs.parts import openai_tool_definitions
from calipers.trainers.rows import Images, is_nan, prompt_messages, rubric_of_value
from calipers.trainers.run import Row
from calipers.types import Tool

_log = logging.getLogger(__name__)

DifferingPrompts: TypeAlias = Literal["refused", "warned", "allowed"]
"""What happens to a group whose rollouts have different prompts."""


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
    tools = getattr(getattr(columns.get("log_metric"), "__self__", None), "tools", None)
    shown = {"tools": _definitions(tools)} if isinstance(tools, list | tuple) and tools else {}
    images = Images()
    return [
        Row(
            None,
            _member(completions[at], images) | shown,
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
    differing: DifferingPrompts = "refused",
    label: str = "",
    extra: Mapping[str, Any] | None = None,
) -> list[Row]:
    """Return the rows in groups of ``size`` neighbours each.

    A group's id has the positions of its rows in the batch, from 1, after ``label``; ``extra`` is recorded with it. A
    group with ``differing`` prompts is a ConfigError ("refused"), unless environments have extended them ("allowed").
    Then each is shown with its own rollout. Where that is not known ("warned"), a batch of one such group is judged.
    A batch that does not consist of whole groups is a ConfigError, too: ``size`` or the order of the rows is not the
    trainer's.
    """
    if len(batch) % size:
        raise ConfigError(
            f"the trainer passed {len(batch)} completions, which are not whole groups of num_generations={size}: set "
            "num_generations= to the trainer's own, and make per_device_train_batch_size x processes x "
            "steps_per_generation divisible by it"
        )
    rows: list[Row] = []
    for start in range(0, len(batch), size):
        members, where = batch[start : start + size], f"rows {start + 1}-{start + size}"
        shared = all(row.prompt == members[0].prompt for row in members)
        if not shared and differing == "warned" and len(batch) == size:
            _log.warning("%s have different prompts, and a group compares answers to one prompt", where)
        elif not shared and differing != "allowed":
            raise ConfigError(
                f"{where} of the batch have different prompts, so they are no group: num_generations={size} is not the "
                "trainer's group size, or the rows of a prompt are not neighbours (in evaluation the size is "
                "num_generations_eval; TRL before 1.0 does not pass it to reward functions: keep them equal there)"
            )
        named = (replace(row, key=start, name=f"{label}{where}", extra=dict(extra or {})) for row in members)
        rows += named if shared else map(_with_prompt, named)
    return rows


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
    return {"messages": shown if isinstance(shown, list | tuple) else [shown]}


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
        return openai_tool_definitions(definitions)
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
