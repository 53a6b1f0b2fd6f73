"""Convert rows of verl's data, and the output of its agent loops, to groups and members. verl is not imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from calipers.errors import InputError
from calipers.inputs.plain import plain_data
from calipers.rubric.dataset_standards import Standards, text_of_reference
from calipers.trainers.rows import (
    Images,
    rubric_text_with_reference,
    split_reasoning,
    standards_of_row,
    step_fields,
    version_metadata,
    warn_unused,
)
from calipers.trainers.verl.settings import VerlSettings
from calipers.types import Message, Rubric

Decode = Callable[[list[int]], str]
"""A function that turns token ids into text, without special tokens."""


def common_group_fields(row: Mapping[str, Any], settings: VerlSettings, *, rubric: str) -> dict[str, Any]:
    """Return what all rollouts of a row share, as the fields of a group; ``rubric`` is the judge's own.

    A row's rubric may be in any field where data sets store it: ``rubric``, ``extra_info.rubric``, RuscaRL's
    ``reward_model.rubrics``. Raises InputError for what cannot be read.
    """
    common = {"group_id": str(row["uid"]), "context": Images().to_urls(list(row["raw_prompt"]))}
    stated = standards_of_row(row)
    if settings.recipe == "verif":
        model = row.get("reward_model")
        truth = truth_with_rules(stated, model.get("ground_truth") if isinstance(model, Mapping) else None)
        if stated.rubric is not None and settings.scaffold is None:
            warn_unused(f"the rubric in {stated.rubric_place}", "+calipers.recipe=rubric_batch grades by it")
        return {**common, "ground_truth": truth}
    if settings.recipe == "rubric_batch" and not isinstance(stated.rubric, Rubric):
        raise InputError("the row has no criteria: they are expected in reward_model.rubrics, as RuscaRL has them")
    if stated.rules is not None:
        warn_unused(f"the rules in {stated.rules.place}", "+calipers.recipe=verif runs them")
    if isinstance(stated.rubric, Rubric):
        return {**common, "rubric": stated.rubric}
    answer = reference_text(stated) if settings.reference else ""
    text = rubric_text_with_reference(stated.rubric or rubric, answer) if answer else stated.rubric
    return {**common, "rubric": text}


def truth_with_rules(stated: Standards, ground_truth: object) -> Any:
    """Return the object of a row with VerIF's or IFEval's rules. Raises InputError if there is none."""
    if stated.rules is not None:
        return stated.rules.value
    if not isinstance(ground_truth, str | Mapping) or not ground_truth:
        raise InputError("the row has no reward_model.ground_truth with checkers and functions, as VerIF has it")
    return plain_data(ground_truth)


def reference_text(stated: Standards) -> str:
    """Return the reference of a row as text; empty if there is none."""
    return "" if stated.reference is None else text_of_reference(plain_data(stated.reference.value))


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
    about = {"id": str(name)} | version_metadata(*noted)
    stored = outputs[-1].extra_fields.get("messages")
    if stored is not None:
        return {**about, "messages": [split_reasoning(one) if isinstance(one, dict) else one for one in stored]}
    messages = [message for output in outputs for message in _turns(output, decode)]
    if messages and limit is not None and len(outputs[-1].response_ids) >= limit:
        messages[-1] = {**messages[-1], "finish_reason": "length"}
    return {**about, "messages": messages}


def _turns(output: Any, decode: Decode) -> Iterable[Message]:
    tokens, mask = output.response_ids, output.response_mask
    for wrote, run in groupby(zip(mask, tokens, strict=False), key=lambda pair: bool(pair[0])):
        text = decode([token for _, token in run])
        yield split_reasoning({"role": "assistant" if wrote else "tool", "content": text})
