"""Convert the arguments of a TRL reward function (prompts, completions, dataset columns) to groups, by position.

Pure. Not responsible for judging them (``trl.reward``), or for rows of other processes (``trl.ranks``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

from calipers.errors import ConfigError, InputError
from calipers.inputs import canonical
from calipers.inputs.parquet import without_empty_fields
from calipers.inputs.standards import plain_criteria
from calipers.rubric.dataset_standards import STANDARDS_KEYS, parse_row_rubric, read_standards
from calipers.trainers.rollouts.images import Images
from calipers.trainers.rollouts.messages import assistant_message, rubric_text_with_reference, split_reasoning
from calipers.trainers.trl.around import Around
from calipers.types import Message, Rubric, Tool, Trajectory, TrajectoryGroup

USUAL_RUBRIC_COLUMN: Final = "rubric"
"""The column whose rubrics are used if a data set has it. A column of another name was named, and is required."""
PROBLEM: Final = "trl_problem"
"""The key of a trajectory's metadata with the reason why its completion cannot be read."""


@dataclass(frozen=True, slots=True)
class Row:
    """A completion of a TRL batch as plain data, which can be sent to every process of a run.

    ``problem`` is the reason why the completion cannot be read; ``completion`` is then empty. ``tools`` are the
    definitions of the tools that the policy had, and ``artifacts`` what its environment was left with.
    """

    prompt: tuple[Message, ...]
    completion: tuple[Message, ...]
    rubric: str | Rubric | None = None
    reference: str | None = None
    problem: str | None = None
    tools: tuple[Tool, ...] | None = None
    artifacts: Mapping[str, str] = field(default_factory=dict)


def completion_rows(
    prompts: Sequence[Any],
    completions: Sequence[Any],
    *,
    rubrics: Sequence[Any] | None,
    references: Sequence[Any] | None,
    around: Sequence[Around] | None = None,
) -> list[Row]:
    """Return a row per completion of TRL. ``rubrics`` and ``references`` are dataset columns, None if there are none.
    ``around`` is what each rollout had around it: tools, and an environment.

    A completion that cannot be read is the policy's fault, and becomes a row with a ``problem``. Raises InputError for
    faults of the data set: a prompt that cannot be read, a rubric that is neither text nor criteria, a column of
    another length.
    """
    for name, column in (("completions", completions), ("rubrics", rubrics), ("references", references)):
        if column is not None and len(column) != len(prompts):
            raise InputError(f"there are {len(prompts)} prompts but {len(column)} {name}")
    found, images = [], Images()
    for number, (prompt, completion) in enumerate(zip(prompts, completions, strict=True), start=1):
        messages, problem = _completion(completion, images)
        rubric = None if rubrics is None else rubric_from_column(rubrics[number - 1], f"row {number}: its rubric")
        reference = None if references is None else references[number - 1]
        reference = None if reference is None or reference == "" else str(reference)
        beside = Around() if around is None else around[number - 1]
        found.append(
            Row(
                _prompt(prompt, images, number),
                messages,
                rubric,
                reference,
                problem or beside.problem,
                beside.tools,
                beside.artifacts,
            )
        )
    return found


def groups_of_rows(
    batch: Sequence[Row],
    size: int,
    *,
    default_rubric: str,
    mixed_prompts: bool = False,
    label: str = "",
    extra: Mapping[str, Any] | None = None,
) -> list[TrajectoryGroup]:
    """Return groups of ``size`` neighbouring TRL rows each.

    Ids are positions in the batch, from 1; a group's id begins with ``label``, and ``extra`` is recorded with it. The
    rows of a group have the same prompt, unless ``mixed_prompts`` is True, which means that something else may have
    changed the prompts. If a row has a reference but no rubric, the reference is added to ``default_rubric``. Raises
    ConfigError if the batch does not consist of whole groups, or if a group has several prompts, which with
    ``mixed_prompts`` has to be certain: then ``size`` is not the trainer's.
    """
    if len(batch) % size:
        raise ConfigError(
            f"the trainer passed {len(batch)} completions, which are not whole groups of num_generations={size}: set "
            "num_generations= to the trainer's own, and make per_device_train_batch_size x processes x "
            "steps_per_generation divisible by it"
        )
    if mixed_prompts:
        _require_size_of_runs(batch, size)
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
                extra=dict(extra or {}),
            )
        )
    return groups


def _trajectory(row: Row, name: str, *, whole: bool) -> Trajectory:
    """Return a row as a trajectory; ``whole`` includes the prompt.

    The problem of a row without messages is stored, to be logged with its missing reward.
    """
    if row.problem is not None:
        return Trajectory(name, (), metadata={PROBLEM: row.problem})
    messages = row.prompt + row.completion if whole else row.completion
    return Trajectory(name, messages, tools=row.tools, artifacts=row.artifacts)


def _have_one_prompt(members: Sequence[Row], where: str, *, mixed_prompts: bool) -> bool:
    shared = all(row.prompt == members[0].prompt for row in members)
    if not shared and not mixed_prompts:
        raise ConfigError(
            f"{where} of the batch have different prompts, so they are no group: num_generations={len(members)} is not "
            "the trainer's group size (in evaluation that is num_generations_eval; TRL before 1.0 does not pass it to "
            "reward functions: keep it equal to num_generations there)"
        )
    return shared


def _require_size_of_runs(batch: Sequence[Row], size: int) -> None:
    """Raise ConfigError if equal prompts follow one another in runs of one length, and a run is in two groups."""
    lengths = [len(list(run)) for _, run in groupby(row.prompt for row in batch)]
    if len(lengths) > 1 and len(set(lengths)) == 1 and lengths[0] > 1 and size % lengths[0] and lengths[0] % size:
        raise ConfigError(
            f"the batch has {lengths[0]} completions of each prompt, and num_generations is {size}: set "
            "num_generations= to the trainer's own"
        )


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


def rubric_from_column(value: Any, what: str) -> str | Rubric | None:
    """Return the rubric in a value of a column of TRL's data set: text or criteria, also as JSON text.

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
    """Return a column of TRL's data set by its name, or None.

    Raises ConfigError if a ``required`` column is missing.
    """
    if name is None or given.get(name) is None:
        if name is not None and required:
            known = ", ".join(key for key, value in given.items() if isinstance(value, list)) or "none"
            raise ConfigError(f"the data set has no column {name!r}; its columns are: {known}")
        return None
    column = given[name]
    if not isinstance(column, list | tuple):
        raise InputError(f"{name!r} is a {type(column).__name__}, not a column of the data set")
    return column
