"""From a row of verl's data and what its agent loops return, to the group and the member a judge reads.

Pure: tokens are decoded by a function that is passed in. Not responsible for verl's classes (``verl_agent_loop``,
``verl_reward``), of which nothing is imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from calipers.readers import as_rubric_row
from calipers.trainers.images import Images
from calipers.trainers.references import with_reference
from calipers.trainers.thoughts import thought_apart
from calipers.types import Message, Rubric

Decode = Callable[[list[int]], str]
"""Token ids to text, without special tokens."""


class Output(Protocol):
    """The part of verl's ``AgentLoopOutput`` that is read: ``response_mask`` is 1 where the policy wrote, 0 elsewhere."""

    response_ids: list[int]
    response_mask: list[int]
    extra_fields: dict[str, Any]


def group_of(row: Mapping[str, Any], *, rubric: str, reference: bool) -> dict[str, Any]:
    """What all rollouts of a row have in common: its id, its prompt, and the rubric where it brings one of its own.

    The rubric stands in the row's ``rubric``, ``extra_info.rubric`` or ``reward_model.rubric``, or, as criteria, in RuscaRL's
    ``reward_model.rubrics``; ``rubric`` is the judge's own, to which a reference (``reward_model.ground_truth``) is added
    where the row has none. Raises InputError for criteria that cannot be read.
    """
    own = rubric_of(row) or criteria_of(row)
    head = {"group_id": str(row["uid"]), "context": Images().to_urls(list(row["raw_prompt"]))}
    if isinstance(own, Rubric):
        return {**head, "rubric": own}
    truth = shown(_within(row, "reward_model").get("ground_truth")) if reference else ""
    return {**head, "rubric": with_reference(own or rubric, truth) if truth else own}


def rubric_of(row: Mapping[str, Any]) -> str | None:
    """The rubric a row brings, or None."""
    for place in (row, _within(row, "extra_info"), _within(row, "reward_model")):
        given = place.get("rubric")
        if isinstance(given, str) and given.strip():
            return given
    return None


def criteria_of(row: Mapping[str, Any]) -> Rubric | None:
    """The criteria a row of RuscaRL's form brings, where its reward function reads them or beside; or None."""
    inner = _within(_within(row, "extra_info"), "reward_model")
    if not any(place.get("rubrics") is not None for place in (inner, _within(row, "reward_model"))):
        return None
    fields = {key: row[key] for key in ("reward_model", "extra_info") if row.get(key) is not None}
    return as_rubric_row(fields, form="verl").rubric


def shown(value: Any) -> str:
    """A reference as text; empty where there is none."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(_plain(value), ensure_ascii=False, default=str)


def member_of(outputs: Sequence[Output], name: object, decode: Decode, *, limit: int | None = None) -> dict[str, Any]:
    """One rollout as a trajectory: what the policy wrote, and what tools and environment answered, in order.

    An agent loop that keeps the messages of a rollout may leave them (without the prompt's) in
    ``extra_fields["messages"]``; else they are read off its tokens. A rollout of ``limit`` tokens was cut off.
    """
    kept = outputs[-1].extra_fields.get("messages")
    if kept is not None:
        return {"id": str(name), "messages": [thought_apart(one) if isinstance(one, dict) else one for one in kept]}
    said = [message for output in outputs for message in _turns(output, decode)]
    if said and limit is not None and len(outputs[-1].response_ids) >= limit:
        said[-1] = {**said[-1], "finish_reason": "length"}
    return {"id": str(name), "messages": said}


def _turns(output: Output, decode: Decode) -> Iterable[Message]:
    tokens, mask = output.response_ids, output.response_mask
    begin = 0
    while begin < len(tokens):
        wrote = bool(mask[begin])
        try:
            end = mask.index(not wrote, begin)
        except ValueError:
            end = len(tokens)
        yield thought_apart({"role": "assistant" if wrote else "tool", "content": decode(tokens[begin:end])})
        begin = end


def _within(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    inner = row.get(key)
    return inner if isinstance(inner, Mapping) else {}


def _plain(value: Any) -> Any:
    """Parquet's arrays as lists, however deep."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if callable(getattr(value, "tolist", None)):
        value = value.tolist()
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
