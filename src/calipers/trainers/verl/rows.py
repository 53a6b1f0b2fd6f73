"""Convert rows of verl's data, and the output of its agent loops, to groups and members that a judge can read.

Pure: the function that decodes tokens is passed in. Not responsible for verl's classes (``verl.agent_loop``,
``verl.reward``); verl is not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, Protocol

from calipers.inputs.plain import plain_data
from calipers.rubric.dataset_standards import Standards, text_of_reference
from calipers.trainers.rollouts.dataset_rows import standards_of_row, warn_unused
from calipers.trainers.rollouts.images import Images
from calipers.trainers.rollouts.messages import rubric_text_with_reference, split_reasoning
from calipers.trainers.rollouts.steps import step_fields, updates_before, version_metadata
from calipers.types import Message, Rubric

Decode = Callable[[list[int]], str]
"""A function that turns token ids into text, without special tokens."""


class Output(Protocol):
    """The fields of verl's ``AgentLoopOutput`` that are read;
    ``response_mask`` is 1 for the policy's tokens, else 0.
    """

    response_ids: list[int]
    response_mask: list[int]
    extra_fields: dict[str, Any]


def group_fields_of_row(row: Mapping[str, Any], *, rubric: str, reference: bool) -> dict[str, Any]:
    """Return what all rollouts of a verl row share: its id, its prompt, and its rubric, if it has one.

    The rubric may be in any field where data sets store it (``rubric.dataset_standards``): ``rubric``,
    ``extra_info.rubric``, RuscaRL's ``reward_model.rubrics``. With ``reference``, ``reward_model.ground_truth`` is
    added to a rubric of text. This is the row's rubric, or the judge's own (``rubric``) if the row has none. A warning
    says that rules for code are not used. Raises InputError for what cannot be read, and for two rubrics that differ.
    """
    stated = standards_of_row(row)
    own = stated.rubric
    if stated.rules is not None:
        warn_unused(f"the rules in {stated.rules.place}", "+calipers.recipe=verif runs them")
    common = {"group_id": str(row["uid"]), "context": Images().to_urls(list(row["raw_prompt"]))}
    if isinstance(own, Rubric):
        return {**common, "rubric": own}
    answer = reference_text(stated) if reference else ""
    return {**common, "rubric": rubric_text_with_reference(own or rubric, answer) if answer else own}


def step_of_row(row: Mapping[str, Any], *, validate: bool) -> dict[str, Any]:
    """Return what a group records of the step in which verl rolls a row out; nothing without a step."""
    step = row.get("global_steps")
    return {} if step is None else step_fields(updates_before(int(step), validate=validate), training=not validate)


def reference_text(stated: Standards) -> str:
    """Return the reference of a verl row as text; empty if there is none."""
    return "" if stated.reference is None else text_of_reference(plain_data(stated.reference.value))


def member_of_outputs(
    outputs: Sequence[Output], name: object, decode: Decode, *, limit: int | None = None
) -> dict[str, Any]:
    """Return a verl rollout as a trajectory: the policy's messages, and the answers of tools and environment, in order.

    An agent loop may store the messages of a rollout (without the prompt's) in ``extra_fields["messages"]``; otherwise
    they are decoded from its tokens. A rollout of ``limit`` tokens was cut off.
    """
    stored = outputs[-1].extra_fields.get("messages")
    about = {"id": str(name)} | _versions(outputs)
    if stored is not None:
        return {**about, "messages": [split_reasoning(one) if isinstance(one, dict) else one for one in stored]}
    messages = [message for output in outputs for message in _turns(output, decode)]
    if messages and limit is not None and len(outputs[-1].response_ids) >= limit:
        messages[-1] = {**messages[-1], "finish_reason": "length"}
    return {**about, "messages": messages}


def _versions(outputs: Sequence[Output]) -> dict[str, Any]:
    """Return the versions of the policy that wrote a rollout, where verl's server notes them with every answer."""
    noted = [output.extra_fields.get(name) for output in outputs for name in ("min_global_steps", "max_global_steps")]
    return version_metadata(*noted)


def _turns(output: Output, decode: Decode) -> Iterable[Message]:
    tokens, mask = output.response_ids, output.response_mask
    for wrote, run in groupby(zip(mask, tokens, strict=False), key=lambda pair: bool(pair[0])):
        text = decode([token for _, token in run])
        yield split_reasoning({"role": "assistant" if wrote else "tool", "content": text})
