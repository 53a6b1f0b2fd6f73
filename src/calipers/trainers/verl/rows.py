"""From a row of verl's data and what its agent loops return, to the group and the member a judge reads.

Pure: tokens are decoded by a function that is passed in. Not responsible for verl's classes (``verl_agent_loop``,
``verl_reward``), of which nothing is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from calipers.readers.plain import plain
from calipers.rubric.standards import as_text
from calipers.trainers.rollouts.dataset_rows import standards_of, warn_unused
from calipers.trainers.rollouts.images import Images
from calipers.trainers.rollouts.reasoning import split_reasoning
from calipers.trainers.rollouts.references import with_reference
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

    The rubric stands wherever data sets have it (``rubric.standards``): ``rubric``, ``extra_info.rubric``, RuscaRL's
    ``reward_model.rubrics``; ``rubric`` is the judge's own, to which a reference (``reward_model.ground_truth``) is added
    where the row has none. Rules for code are not used, which a warning says. Raises InputError for what cannot be read, and
    for two rubrics that differ.
    """
    stated = standards_of(row)
    own = stated.rubric
    if stated.rules is not None:
        warn_unused(f"the rules in {stated.rules.place}", "+calipers.recipe=verif runs them")
    head = {"group_id": str(row["uid"]), "context": Images().to_urls(list(row["raw_prompt"]))}
    if isinstance(own, Rubric):
        return {**head, "rubric": own}
    truth = shown(stated.reference.value) if reference and stated.reference is not None else ""
    return {**head, "rubric": with_reference(own or rubric, truth) if truth else own}


def rubric_of(row: Mapping[str, Any]) -> str | None:
    """The rubric of text that a row brings, or None."""
    rubric = standards_of(row).rubric
    return rubric if isinstance(rubric, str) else None


def criteria_of(row: Mapping[str, Any]) -> Rubric | None:
    """The criteria a row brings, wherever it has them; None where it brings text or nothing."""
    rubric = standards_of(row).rubric
    return rubric if isinstance(rubric, Rubric) else None


def shown(value: Any) -> str:
    """A reference as text; empty where there is none."""
    return as_text(plain(value))


def member_of(outputs: Sequence[Output], name: object, decode: Decode, *, limit: int | None = None) -> dict[str, Any]:
    """One rollout as a trajectory: what the policy wrote, and what tools and environment answered, in order.

    An agent loop that keeps the messages of a rollout may leave them (without the prompt's) in
    ``extra_fields["messages"]``; else they are read off its tokens. A rollout of ``limit`` tokens was cut off.
    """
    kept = outputs[-1].extra_fields.get("messages")
    if kept is not None:
        return {"id": str(name), "messages": [split_reasoning(one) if isinstance(one, dict) else one for one in kept]}
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
        yield split_reasoning({"role": "assistant" if wrote else "tool", "content": decode(tokens[begin:end])})
        begin = end
