"""Turns a prompt's row into a form that verl's ``main_eval`` can score. Pure.

``main_eval`` passes only ``reward_model.ground_truth`` to a reward function. But RuscaRL stores a row's criteria beside
the ground truth, HealthBench and IFEval use columns of their own, and the prompt is in none of these places. So prompt
and criteria are put into the ground truth, as JSON text. A ground truth that is a plain answer stays unchanged if the
row has no criteria or rules, because other reward functions read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from calipers.inputs.plain import plain_data
from calipers.inputs.records import without_empty_fields
from calipers.rubric.dataset_standards import ground_truth_object, read_standards
from calipers.types import Message, Rubric


def row_for_main_eval(row: Mapping[str, Any], prompt: Sequence[Message]) -> dict[str, Any]:
    """Return ``row`` of generated responses with ``data_source`` and a ``reward_model`` whose ``ground_truth`` holds
    everything for judging.

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
    own = ground_truth_object(truth)
    if own is not None or stated.rubric is not None or stated.rules is not None or truth in (None, ""):
        model["ground_truth"] = json.dumps(
            {"prompt": [dict(message) for message in prompt], **asked, **(own or {})}, ensure_ascii=False, default=str
        )
    return {**row, "data_source": row.get("data_source") or "unknown", "reward_model": model}


def _criteria(rubric: Rubric) -> list[dict[str, Any]]:
    """Return a rubric's criteria in the form of data-set rows."""
    return [
        {
            "criterion": one.text,
            "points": one.points,
            "id": one.id,
            # The rule is a field of its own; in the tags, it would be read a second time.
            "tags": [tag for tag in one.tags if not (one.rule and tag.startswith("verifier:"))],
            **({"rule": dict(one.rule)} if one.rule else {}),
            **({"veto": True} if one.veto else {}),
            **({"levels": dict(one.levels)} if one.levels else {}),
        }
        for one in rubric.criteria
    ]
