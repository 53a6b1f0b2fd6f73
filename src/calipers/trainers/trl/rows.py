"""From what TRL hands a reward function (prompts, completions, dataset columns) to groups a judge can read, by position.

Pure. Not responsible for who judges them (``trl``), nor for rows that other processes hold (``trl_ranks``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from calipers.errors import ConfigError, InputError
from calipers.readers import canonical
from calipers.readers.parquet import without_empty
from calipers.readers.plain import plain
from calipers.rubric.standards import CARRIERS, as_standard, standards_in
from calipers.trainers.rollouts.images import Images
from calipers.trainers.rollouts.reasoning import split_reasoning
from calipers.trainers.rollouts.references import with_reference
from calipers.types import Message, Rubric, Trajectory, TrajectoryGroup

PROBLEM: Final = "trl_problem"
"""Where a trajectory's metadata say why its completion cannot be read."""


@dataclass(frozen=True, slots=True)
class Row:
    """One completion as plain data, which every process of a run can be told of.

    ``problem`` says why the completion cannot be read, and then ``completion`` is empty.
    """

    prompt: tuple[Message, ...]
    completion: tuple[Message, ...]
    rubric: str | Rubric | None = None
    reference: str | None = None
    problem: str | None = None


def rows(
    prompts: Sequence[Any],
    completions: Sequence[Any],
    *,
    rubrics: Sequence[Any] | None,
    references: Sequence[Any] | None,
) -> list[Row]:
    """A row a completion. ``rubrics`` and ``references`` are dataset columns, None where there is none.

    A completion that cannot be read is the policy's doing, and becomes a row with a ``problem``. Raises InputError for
    what is the data set's: a prompt that cannot be read, a rubric that is neither text nor criteria, columns of another length.
    """
    for name, column in (("completions", completions), ("rubrics", rubrics), ("references", references)):
        if column is not None and len(column) != len(prompts):
            raise InputError(f"there are {len(prompts)} prompts and {len(column)} {name}: they must be as many")
    made, images = [], Images()
    for place, (prompt, completion) in enumerate(zip(prompts, completions, strict=True)):
        said, problem = _completion(completion, images)
        rubric = None if rubrics is None else standards_of(rubrics[place], f"row {place + 1}: its rubric")
        reference = None if references is None else _shown(references[place])
        made.append(Row(_prompt(prompt, images, place + 1), said, rubric, reference, problem))
    return made


def grouped(
    batch: Sequence[Row], size: int, *, default_rubric: str, mixed_prompts: bool = False, label: str = ""
) -> list[TrajectoryGroup]:
    """Groups of ``size`` neighbouring rows each; ids are positions in the batch, from 1, a group's after ``label``.

    The rows of a group have one prompt, unless ``mixed_prompts`` says that something else may have changed them.
    ``default_rubric`` is what a reference is added to where a row has no rubric. Raises ConfigError for a batch that is
    not whole groups, or whose groups hold several prompts: then ``size`` is not what the trainer goes by.
    """
    if len(batch) % size:
        raise ConfigError(
            f"the trainer brings {len(batch)} completions, which are not whole groups of num_generations={size}; "
            "num_generations= must be the trainer's own, and per_device_train_batch_size x processes x "
            "steps_per_generation divisible by it"
        )
    groups = []
    for start in range(0, len(batch), size):
        members = batch[start : start + size]
        where = f"rows {start + 1}-{start + size}"
        shared = _have_one_prompt(members, where, mixed_prompts=mixed_prompts)
        groups.append(
            TrajectoryGroup(
                group_id=f"{label}{where}",
                context=members[0].prompt if shared else (),
                trajectories=tuple(
                    _trajectory(row, str(number), whole=not shared)
                    for number, row in enumerate(members, start=start + 1)
                ),
                rubric=_rubric(members, where, default_rubric),
            )
        )
    return groups


def _trajectory(row: Row, name: str, *, whole: bool) -> Trajectory:
    """``whole``: with its prompt. The problem of a row without messages goes along, to be told beside its missing reward."""
    if row.problem is not None:
        return Trajectory(name, (), metadata={PROBLEM: row.problem})
    return Trajectory(name, row.prompt + row.completion if whole else row.completion)


def _have_one_prompt(members: Sequence[Row], where: str, *, mixed_prompts: bool) -> bool:
    shared = all(row.prompt == members[0].prompt for row in members)
    if not shared and not mixed_prompts:
        raise ConfigError(
            f"{where} of the batch do not have one prompt, so they are no group: num_generations={len(members)} is not "
            "what the trainer groups by (in evaluation it is num_generations_eval, and TRL before 1.0 does not tell "
            "reward functions which it is: leave it equal to num_generations there)"
        )
    return shared


def _rubric(members: Sequence[Row], where: str, default: str) -> str | Rubric | None:
    """The one rubric of a group. A reference joins text; criteria say themselves what is to be there."""
    first = members[0]
    if any((row.rubric, row.reference) != (first.rubric, first.reference) for row in members):
        raise ConfigError(f"{where} of the batch are one group and have different rubrics or references")
    if first.reference is None or isinstance(first.rubric, Rubric):
        return first.rubric
    return with_reference(first.rubric or default, first.reference)


def _prompt(prompt: Any, images: Images, number: int) -> tuple[Message, ...]:
    if isinstance(prompt, str):
        return ({"role": "user", "content": prompt},)
    try:
        return canonical(images.to_urls(prompt))
    except InputError as error:
        raise InputError(f"the prompt of row {number}: {error}") from None


def _completion(completion: Any, images: Images) -> tuple[tuple[Message, ...], str | None]:
    if isinstance(completion, str):
        return (split_reasoning({"role": "assistant", "content": completion}),), None
    try:
        said = tuple(map(split_reasoning, canonical(images.to_urls(completion))))
    except InputError as error:
        return (), f"the completion cannot be read: {error}"
    return said, None if said else "the completion holds no message"


def standards_of(value: Any, what: str) -> str | Rubric | None:
    """Text, or criteria: a rubric's object, a list of criteria, or an object that has them as data sets' rows do (verl's
    ``reward_model``, say), as a data set's column holds them; also as JSON text. Raises InputError.
    """
    if value is None or value == "":
        return None
    read = plain(value)
    try:
        if isinstance(read, Mapping) and "criteria" not in read and not CARRIERS.isdisjoint(read):
            return standards_in(without_empty(dict(read))).rubric
        return as_standard(read, "")
    except (ConfigError, InputError) as error:
        raise InputError(f"{what} is neither text nor criteria: {error}") from None


def _shown(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def column_of(given: Mapping[str, Any], name: str | None, *, required: bool) -> Sequence[Any] | None:
    """A dataset column by its name, or None where there is none. Raises ConfigError where a ``required`` one is missing."""
    if name is None or given.get(name) is None:
        if name is not None and required:
            there = ", ".join(key for key, value in given.items() if isinstance(value, list)) or "none"
            raise ConfigError(f"the data set has no column {name!r}; its columns are: {there}")
        return None
    column = given[name]
    if not isinstance(column, list | tuple):
        raise InputError(f"{name!r} is a {type(column).__name__}, not a column of the data set")
    return column
