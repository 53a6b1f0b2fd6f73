"""Convert rows of verl's data, and the output of its agent loops, to groups and members. verl is not imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from calipers.errors import InputError
from calipers.inputs.plain import plain_data
from calipers.judging.hybrid import Hybrid
from calipers.judging.judge import Judge
from calipers.rubric.dataset_standards import text_of_reference
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
from calipers.types import Message, Rubric, TrajectoryGroup
from calipers.verifiers import has_answer
from calipers.verifiers.constraints import Constraints, RulesAs, read_constraints

Decode = Callable[[list[int]], str]
"""A function that turns token ids into text, without special tokens."""


def common_group_fields(row: Mapping[str, Any], settings: VerlSettings, *, rubric: str) -> dict[str, Any]:
    """Return what all rollouts of a row share, as the fields of a group; ``rubric`` is the judge's own.

    A row's rubric may be in any field where data sets store it: ``rubric``, ``extra_info.rubric``, RuscaRL's
    ``reward_model.rubrics``. Raises InputError for what cannot be read, and for a row without what its recipe needs.
    """
    common = {"context": Images().to_urls(list(row["raw_prompt"]))}
    if "uid" in row:
        common["group_id"] = str(row["uid"])
    stated = standards_of_row(row)
    if settings.recipe == "verif":
        model = row.get("reward_model")
        truth = model.get("ground_truth") if isinstance(model, Mapping) else None
        if stated.rules is None and (not isinstance(truth, str | Mapping) or not truth):
            raise InputError("the row has no reward_model.ground_truth with checkers and functions, as VerIF has it")
        if stated.rubric is not None:
            warn_unused(f"the rubric in {stated.rubric_place}", "recipe=rubric_batch grades by it")
        return {**common, "ground_truth": plain_data(truth) if stated.rules is None else stated.rules.value}
    if settings.recipe == "rubric_batch" and not isinstance(stated.rubric, Rubric):
        raise InputError(
            "the row has no criteria: they are expected in reward_model.rubrics or extra_info.reward_model.rubrics. "
            "main_eval passes reward_model.ground_truth and nothing else of a row: calipers generate -o OUT.parquet "
            "writes them into it"
        )
    if stated.rules is not None:
        warn_unused(f"the rules in {stated.rules.place}", "recipe=verif runs them")
    if isinstance(stated.rubric, Rubric):
        return {**common, "rubric": stated.rubric}
    reference = stated.reference if settings.reference else None
    answer = "" if reference is None else text_of_reference(plain_data(reference.value))
    text = rubric_text_with_reference(stated.rubric or rubric, answer) if answer else stated.rubric
    return {**common, "rubric": text}


def group_scorer(settings: VerlSettings, judge: Judge) -> Judge | Hybrid:
    """Return the scorer of whole groups for the settings' recipe: the judge alone, or with a row's rules."""
    if settings.recipe != "verif":
        return judge
    checks = partial(_constraints, rules=settings.rules)
    return Hybrid(judge, checks=checks, combine="verif_code", gates=[has_answer])


def _constraints(group: TrajectoryGroup, *, rules: RulesAs) -> Constraints:
    asked = "\n".join(str(message.get("content") or "") for message in group.context)
    return read_constraints(group.extra["ground_truth"], instruction=asked, rules=rules)


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
