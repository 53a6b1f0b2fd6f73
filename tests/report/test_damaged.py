"""A study's or a run's file in which any value is of another kind is shown or refused in a sentence, never a traceback.

Every value of small files is replaced, one at a time.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.report.details import details_of, index_row
from calipers.report.runs.studies import study_of
from calipers.report.runs.watched import watched_run
from calipers.report.sources import Judged
from calipers.study.outcomes import RECORD
from reported import member, result_of
from reported_runs import simulation_file, trained

WRONG: tuple[Any, ...] = (None, "x", 5, [], {"a": 5}, ["x"], True, 1e308, "remove")
"""Values of other kinds, and numbers whose squares overflow."""


def addresses(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if at:
        yield at
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from addresses(one, (*at, key))


def damaged(value: Any) -> Iterator[Any]:
    """Yield copies with one value replaced or removed."""
    for *path, last in addresses(value):
        for wrong in WRONG:
            copy = deepcopy(value)
            inner = copy
            for key in path:
                inner = inner[key]
            if wrong == "remove":
                del inner[last]
            else:
                inner[last] = wrong
            yield copy


def read_each(value: Any, read: Callable[[Any], dict[str, Any]]) -> tuple[int, list[str]]:
    """Read every damaged copy; return how many could be shown, and why the others could not."""
    shown, refused = 0, []
    for copy in damaged(value):
        try:
            json.dumps(read(copy), allow_nan=False)
            shown += 1
        except InputError as error:
            refused.append(str(error))
    return shown, refused


def record() -> dict[str, Any]:
    """A record of training with two arms and two runs."""
    arms = [
        {
            "name": name,
            "against": against,
            "figures": {"length": [9.0, None], "first_truth_pull": [0.5, 0.4]},
            "held_out": {"step": [0, 2], "truth": [[0.5, 0.6], [0.5, 0.7]], "kl": [[0.0, 0.1], [0.0, 0.2]]},
        }
        for name, against in (("plain", None), ("biased", "plain"))
    ]
    checks = [{"passed": True, "found": "74% of the first groups have truth spread"}]
    return {"format": RECORD, "title": "Recorded", "steps": 2, "seeds": [0, 1], "valid": True, "checks": checks,
            "failed": [], "arms": arms}  # fmt: skip


def simulation(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(simulation_file(folder / "simulated.json", steps=2).read_text(encoding="utf-8"))
    stopped = [{"seed": 0, "step": 1, "rule": "kl", "found": "too far"}]
    return {
        **found,
        "failed": [{"run": "a", "why": "b"}],
        "arms": [{**one, "stopped": stopped} for one in found["arms"]],
    }


@pytest.mark.parametrize("kind", ["record", "simulation"])
def test_a_damaged_study_is_shown_or_refused(tmp_path: Path, kind: str):
    path = tmp_path / "study.json"

    def read(found: Any) -> dict[str, Any]:
        path.write_text(json.dumps(found), encoding="utf-8")
        return study_of(str(path))

    shown, refused = read_each(record() if kind == "record" else simulation(tmp_path), read)
    assert shown > 100
    assert len(refused) > 100
    assert [one for one in refused if not one.startswith(str(path))] == []


def test_what_a_figure_lacks_is_named_with_its_place(tmp_path: Path):
    found = record()
    found["arms"][1]["figures"]["length"][0] = "long"
    (tmp_path / "study.json").write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(InputError, match=r"study\.json: arm 'biased'\.figures\.length\[0\]: 'long' is no number"):
        study_of(str(tmp_path / "study.json"))


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asyncio.run(trained(tmp_path_factory.mktemp("run"), steps=2, prompts=2)).watched


@pytest.mark.parametrize("name", ["groups.jsonl", "trainer.jsonl", "broken.jsonl"])
def test_a_damaged_row_of_a_watched_run_is_shown_or_refused(watched: Path, name: str):
    path = watched / name
    before = path.read_text(encoding="utf-8")
    rows = [json.loads(line) for line in before.splitlines()[:1]]

    def read(found: Any) -> dict[str, Any]:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in found), encoding="utf-8")
        return watched_run(str(watched))

    try:
        shown, refused = read_each(rows, read)
    finally:
        path.write_text(before, encoding="utf-8")
    assert shown > 0
    assert refused
    assert all(str(path) in one for one in refused)


def test_a_number_too_large_to_compute_with_is_none_of_a_groups():
    result = result_of("g", member("a", 1e308, score=1e308, stderr=1e160), member("b", -1e308, score=-1e308))
    detail = details_of(Judged(0, result))
    first = detail["trajectories"][0]
    assert (first["score"], first["stderr"], first["reward"]) == (None, None, None)
    assert index_row(detail)["scores"][1][::2] == [None, None]


def test_every_damaged_result_has_details():
    attack = {"kind": "instruction", "message": 1, "role": "assistant", "excerpt": "x", "certainty": "certain"}
    criteria = {"c": {"met": True, "by": "x", "quote": "q", "reason": "r", "share": 0.5}}
    result = result_of("g", member("a", attacks=[attack], criteria=criteria), member("b", None, reason="refused"))
    fixed = {"group_id": result["group_id"], "trajectories": result["trajectories"]}
    for copy in damaged(result):
        members = copy.get("trajectories")
        if isinstance(members, list) and all(isinstance(one, dict) and "id" in one for one in members):
            json.dumps(details_of(Judged(0, {**fixed, **copy})), allow_nan=False)
