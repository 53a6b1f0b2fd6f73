"""Files of scenarios (JSON lines for ``calipers generate``, or verl's Parquet), their split, and which to keep.

A group whose rollouts all score the same has advantage 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from calipers.errors import InputError
from calipers.generation.forms import write_rows
from calipers.inputs.parts import openai_tool_definitions
from calipers.inputs.records import parquet_rows, read_json_lines
from calipers.scenarios.making import Scenario
from calipers.types import Tool
from calipers.types.encoding import finite_number

_WITHOUT_SCORE = frozenset(("failed", "abstained"))


def validation_path(out: str) -> str:
    """Return where the scenarios for validation go: beside ``out``."""
    path = Path(out)
    return str(path.with_name(f"{path.stem}.validation{path.suffix}"))


class Split(NamedTuple):
    """Scenarios for training and for validation."""

    train: list[Scenario]
    validation: list[Scenario]


def split(scenarios: Sequence[Scenario], share: float) -> Split:
    """Return scenarios for training, and about ``share`` of them for validation. Something stays in training.

    Which they are follows from their texts, not from the order of writing.
    """
    drawn = sorted(scenario.id for scenario in scenarios)  # an id is a digest
    held = set(drawn[: min(round(len(drawn) * share), len(drawn) - 1)])
    train = [scenario for scenario in scenarios if scenario.id not in held]
    return Split(train, [scenario for scenario in scenarios if scenario.id in held])


def write_split(parts: Split, out: str, tools: Sequence[Tool]) -> None:
    """Write a split's scenarios. Validation scenarios of an earlier run never stay: they may be trained on now."""
    beside = validation_path(out)
    for path, side, name in ((out, parts.train, "train"), (beside, parts.validation, "validation")):
        if side:
            verl = path.endswith(".parquet")
            rows = (_verl_row(entry, at, name, tools) if verl else _row(entry, tools) for at, entry in enumerate(side))
            write_rows(rows, path)
        else:
            Path(path).unlink(missing_ok=True)


def _row(one: Scenario, tools: Sequence[Tool]) -> dict[str, Any]:
    """Return a scenario as a row of prompts for ``calipers generate``."""
    more = {"tools": list(tools), "needs": list(one.tools)} if tools else {}
    return {"id": one.id, "prompt": one.text, "topic": one.topic, "difficulty": one.difficulty, **more}


def _verl_row(one: Scenario, index: int, name: str, tools: Sequence[Tool]) -> dict[str, Any]:
    """Return a scenario as a row of verl's data; verl wants a ground truth, which is empty: a judge decides."""
    more = {"tools": json.dumps(list(tools), ensure_ascii=False), "needs": list(one.tools)} if tools else {}
    return {
        "id": one.id,
        "data_source": "calipers/scenarios",
        "prompt": [{"role": "user", "content": one.text}],
        "ability": one.topic,
        "reward_model": {"style": "rule", "ground_truth": ""},
        "extra_info": {"split": name, "index": index, "difficulty": one.difficulty, **more},
    }


def read_tools(path: str) -> tuple[Tool, ...]:
    """Return the tool definitions in a JSON file: a list, or an object with ``tools``, in any API's form.

    Raises InputError naming the file and what is wrong.
    """
    try:
        tools = openai_tool_definitions(json.loads(Path(path).read_text(encoding="utf-8-sig")))
    except (OSError, ValueError, RecursionError, InputError) as error:
        why = str(error) if isinstance(error, OSError | InputError) else f"is not JSON: {error}"
        raise InputError(why, source=path) from None
    if not tools:
        raise InputError("holds no tool definitions", source=path)
    return tools


def read_scenarios(path: str) -> dict[str, dict[str, Any]]:
    """Return the rows of a file of scenarios by id, in order. Raises InputError for a row without an id of its own."""
    rows = parquet_rows(Path(path)) if path.endswith(".parquet") else read_json_lines(path)
    scenarios: dict[str, dict[str, Any]] = {}
    for line, row in rows:
        if isinstance(row, str):
            raise InputError(row, source=path, line=line)
        name = row.get("id")
        if name is None or str(name) in scenarios:
            why = "has no id" if name is None else f"the id {name!r} is there twice"
            raise InputError(f"{why}; name the file that calipers scenarios wrote", source=path, line=line)
        scenarios[str(name)] = row
    if not scenarios:
        raise InputError("holds no scenarios", source=path)
    return scenarios


def read_scores(path: str, known: Mapping[str, Any]) -> tuple[dict[str, list[float]], list[str]]:
    """Return the scores of each scenario's rollouts in a result file, and the ids of groups that are no scenario's.

    The id of a group is its scenario's, as ``calipers generate`` has it; groups with the same id are one. Rollouts
    without a score are left out. Raises InputError for a line that is no result, and where no group is a scenario's.
    """
    scores: dict[str, list[float]] = {}
    strangers: list[str] = []
    for line, row in read_json_lines(path):
        try:
            name, scores_of_row = _result(row)
        except InputError as error:
            raise InputError(str(error), source=path, line=line) from None
        if name in known:
            scores.setdefault(name, []).extend(scores_of_row)
        else:
            strangers.append(name)
    if not scores:
        why = f"none of its {len(strangers)} groups is one of the scenarios" if strangers else "holds no groups"
        raise InputError(f"{why}; name what calipers score wrote for rollouts of the scenarios", source=path)
    return scores, strangers


def _result(row: Mapping[str, Any] | str) -> tuple[str, list[float]]:
    """Return a result's group id, and the scores of the rollouts that have one."""
    if isinstance(row, str):
        raise InputError(row)
    listed = row.get("trajectories")
    if (
        row.get("group_id") is None
        or not isinstance(listed, list)
        or not all(isinstance(item, dict) for item in listed)
    ):
        raise InputError("is not a line of calipers score: it needs a group_id and a list of trajectories")
    scores = []
    for trajectory in listed:
        score = finite_number(trajectory.get("score"))
        if "score" not in trajectory or (score is None and trajectory["score"] is not None):
            raise InputError(f"trajectory {trajectory.get('id')!r}: its score must be a number, or null for none")
        if score is not None and trajectory.get("status") not in _WITHOUT_SCORE:
            scores.append(score)
    return str(row["group_id"]), scores


KINDS: Final = ("differ: kept", "always solved", "never solved", "fewer than two scores")


def kind_of(scores: Sequence[float], *, solved: float) -> str:
    """Return what a scenario's rollouts say of it, one of KINDS. A rollout is solved from the score ``solved`` on."""
    if len(scores) < 2:
        return KINDS[3]
    if max(scores) - min(scores) > 1e-9:
        return KINDS[0]
    return KINDS[1] if scores[0] >= solved else KINDS[2]
