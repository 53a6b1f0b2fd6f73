"""Turns generated responses into rows for the next step: a groups file, or verl's rows.

Pure, except for ``write_rows``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from calipers.errors import ConfigError
from calipers.generation.sampling import Answered, Sample
from calipers.inputs.plain import plain_data
from calipers.inputs.records import without_empty_fields
from calipers.registry import import_library
from calipers.rubric.dataset_standards import ground_truth_object, read_standards
from calipers.types import Message, Rubric

Form: TypeAlias = Literal["groups", "rows"]
"""``groups``: a groups file, for ``calipers score`` and ``ifeval``. ``rows``: the prompt's row with a ``responses``
column, for verl's ``main_eval``.
"""

FORMATS: Final = (".jsonl", ".parquet")
"""The suffixes of files of responses."""


def output_form(out: str) -> Form:
    """Return the usual form of a file of responses by its name: verl's rows for Parquet, else a groups file."""
    return "rows" if out.endswith(".parquet") else "groups"


def response_rows(answered: Answered, form: Form) -> Iterator[dict[str, Any]]:
    """Yield the output rows of a prompt with its generated responses, or none without a response: readers reject an
    empty list.
    """
    if answered.samples:
        yield from [_group(answered) if form == "groups" else _row(answered)]


def _group(answered: Answered) -> dict[str, Any]:
    prompt = answered.prompt
    known = {"group_id": prompt.id, "context": list(prompt.messages)}
    return {**prompt.row, **known, "trajectories": [_trajectory(sample) for sample in answered.samples]}


def _trajectory(sample: Sample) -> dict[str, Any]:
    message = {"role": "assistant", "content": sample.text}
    if sample.reasoning:
        message["reasoning"] = sample.reasoning
    return {"id": str(sample.number), "messages": [message], "metadata": {"finish_reason": sample.finish_reason}}


def _row(answered: Answered) -> dict[str, Any]:
    row = row_for_main_eval(answered.prompt.row, answered.prompt.messages)
    return {**row, "responses": [sample.text for sample in answered.samples]}


def write_rows(rows: Iterable[Mapping[str, Any]], out: str) -> None:
    """Write the rows of generated responses to ``out``: as Parquet if its name says so, else as JSON lines.

    The old file stays until the new file is complete. Raises ConfigError if ``out`` cannot be written.
    """
    part = Path(f"{out}.part")
    try:
        if out.endswith(".parquet"):
            _write_parquet(list(rows), part)
        else:
            with part.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
        part.replace(out)
    except OSError as error:
        raise ConfigError(f"--out {out}: cannot be written: {error.strerror or error}") from error


def _without_empty_objects(value: Any) -> Any:
    """Return ``value`` with None for empty objects: Parquet has no struct without fields, and readers accept both."""
    if isinstance(value, Mapping):
        return {key: _without_empty_objects(item) for key, item in value.items()} or None
    return [_without_empty_objects(item) for item in value] if isinstance(value, list) else value


def _write_parquet(rows: list[Mapping[str, Any]], part: Path) -> None:
    remedy = "writing Parquet needs pyarrow: pip install 'calipers[parquet]'"
    pa, pq = (import_library(name, remedy=remedy) for name in ("pyarrow", "pyarrow.parquet"))
    try:
        # Arrow takes the columns from the first row and would drop columns that occur only in later rows.
        names = list(dict.fromkeys(name for row in rows for name in row))
        packed = [{name: _without_empty_objects(row.get(name)) for name in names} for row in rows]
        pq.write_table(pa.Table.from_pylist(packed), part)
    except pa.ArrowException as error:
        raise ConfigError(f"these rows do not fit in Parquet ({error}); write .jsonl instead") from None


def row_for_main_eval(row: Mapping[str, Any], prompt: Sequence[Message]) -> dict[str, Any]:
    """Return a row of generated responses that verl's ``main_eval`` can score.

    ``main_eval`` passes only ``reward_model.ground_truth`` to a reward function, and data sets keep prompt and criteria
    elsewhere: both are put into the ground truth, as JSON text. A plain answer stays as it is if the row has neither
    criteria nor rules, because other reward functions read it.

    Raises InputError for an ambiguous row, for example a row with two different rubrics.
    """
    read = without_empty_fields(plain_data(row))
    stated = read_standards(read)
    model = dict(model) if isinstance(model := row.get("reward_model"), Mapping) else {"style": "rule"}
    truth = model.get("ground_truth")
    asked: dict[str, Any] = {}
    if stated.rubric is not None:
        rubric = stated.rubric
        asked |= {"rubrics": _criteria(rubric)} if isinstance(rubric, Rubric) else {"rubric": rubric}
    if stated.rules is not None:
        asked |= dict(stated.rules.value)
    if stated.reference is not None:
        asked["reference"] = stated.reference.value
    gold = ground_truth_object(truth)
    if gold is not None or stated.rubric is not None or stated.rules is not None or truth in (None, ""):
        model["ground_truth"] = json.dumps(
            {"prompt": [dict(message) for message in prompt], **asked, **(gold or {})}, ensure_ascii=False, default=str
        )
    return {**row, "data_source": row.get("data_source") or "unknown", "reward_model": model}


def _criteria(rubric: Rubric) -> list[dict[str, Any]]:
    """Return a rubric's criteria in the form of data-set rows."""
    return [
        {
            "criterion": criterion.text,
            "points": criterion.points,
            "id": criterion.id,
            # The rule is a field of its own; in the tags, it would be read a second time.
            "tags": [tag for tag in criterion.tags if not (criterion.rule and tag.startswith("verifier:"))],
            **({"rule": dict(criterion.rule)} if criterion.rule else {}),
            **({"veto": True} if criterion.veto else {}),
        }
        for criterion in rubric.criteria
    ]
