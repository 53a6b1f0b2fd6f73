"""Results and groups as data frames and datasets, and groups read back from them: nothing lost, nothing invented."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.types import Criterion, GroupResult, Rubric, TrajectoryResult, Usage
from calipers.types.tables import result_rows, to_dataset, to_pandas

ROOT = Path(__file__).resolve().parents[2]
GROUPS = list(calipers.read_groups(ROOT / "examples" / "groups.jsonl"))
ASKED = {"role": "user", "content": "q"}
MEMBERS = (TrajectoryResult("a", "scored", 0.8, 0.75, 0.03), TrajectoryResult("b", "failed", reason="timeout"))
RESULT = GroupResult("g1", "partial", MEMBERS, 2, Usage(10, 5, cost_usd=None), ("note",), attempts=3)
NONE_SCORED = GroupResult("g2", "failed", (TrajectoryResult("a", "failed", reason="down"),))


def test_rows_are_trajectories_or_groups_and_what_is_missing_is_none():
    first, second = result_rows([RESULT])
    assert first == {"group_id": "g1", "id": "a", "status": "scored", "reward": 0.8, "score": 0.75, "stderr": 0.03,
                     "explanation": None, "reason": None}  # fmt: skip
    assert (second["reward"], second["reason"]) == (None, "timeout")
    (group,) = result_rows([RESULT], "group")
    assert (group["rewards"], group["scored"], group["trajectories"], group["cost_usd"]) == ([0.8, None], 1, 2, None)
    with pytest.raises(ValueError, match="trajectory or group"):
        result_rows([RESULT], "run")  # type: ignore[arg-type]


@pytest.mark.heavy
def test_a_data_frame_has_numbers_where_all_are_missing_and_columns_where_nothing_is():
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = to_pandas([RESULT, NONE_SCORED])
    assert list(frame["group_id"]) == ["g1", "g1", "g2"]
    assert frame["reward"].dtype == float
    assert [math.isnan(value) for value in frame["reward"]] == [False, True, True]
    assert frame.groupby("group_id")["reward"].mean().to_dict()["g1"] == 0.8
    assert list(to_pandas([]).columns) == list(frame.columns)
    one = NONE_SCORED.to_pandas("group")
    assert (len(one), one["scored"][0], math.isnan(one["cost_usd"][0])) == (1, 0, True)


def test_groups_in_memory_are_read_as_a_file_of_them_is():
    rows = [group.to_dict() for group in GROUPS]
    assert list(calipers.read_groups(rows)) == GROUPS
    assert list(calipers.read_groups(GROUPS)) == GROUPS
    assert list(calipers.read_groups(iter(rows))) == GROUPS
    problems: list[str] = []
    read = calipers.read_groups(
        [rows[0], {"trajectories": 3}, rows[1]], on_error=lambda error: problems.append(str(error))
    )
    assert list(read) == GROUPS[:2]
    assert len(problems) == 1
    assert problems[0].startswith("<list>:2: ")
    with pytest.raises(calipers.InputError, match="holds no groups"):
        list(calipers.read_groups([]))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (b"groups.jsonl", "takes a path, a list"),
        ({"train": [], "test": []}, "splits train, test"),
        (3, "takes a path, a list"),
    ],
)
def test_what_is_no_table_of_groups_is_named(wrong: Any, said: str):
    with pytest.raises(calipers.InputError, match=said):
        list(calipers.read_groups(wrong))


@pytest.mark.heavy
def test_a_dataset_of_groups_comes_back_whole():
    pytest.importorskip("datasets", reason="datasets is not installed")
    stored = to_dataset(GROUPS)
    assert len(stored) == len(GROUPS)
    assert list(calipers.read_groups(stored)) == GROUPS
    results = to_dataset([RESULT])
    assert results["reward"] == [0.8, None] or list(results["reward"]) == [0.8, None]
    with pytest.raises(ValueError, match="not both"):
        to_dataset([RESULT, GROUPS[0]])  # type: ignore[arg-type]


MORE = [
    GROUPS[0],
    replace(GROUPS[1], rubric=Rubric((Criterion("a", "b"),)), artifacts={"log": "x"}, extra={"step": 3, "share": 1}),
    replace(GROUPS[2], rubric="[not] criteria", extra={"share": 0.5, "done": True, "note": "[1]"}),
]


@pytest.mark.heavy
def test_a_dataset_of_groups_has_every_column_and_what_arrow_cannot_hold_as_text():
    pytest.importorskip("datasets", reason="datasets is not installed")
    assert list(calipers.read_groups(to_dataset(MORE))) == MORE
    odd = [
        replace(MORE[0], group_id="\ud800", extra={"x": 1, "y": [1], "z": 2**70}),
        replace(MORE[1], extra={"x": "a"}),
    ]
    first, second = calipers.read_groups(to_dataset(odd))
    assert (first.group_id, dict(first.extra)) == ("?", {"x": "1", "y": "[1]", "z": str(2**70)})
    assert second == odd[1]


@pytest.mark.heavy
@pytest.mark.parametrize("form", ["numpy", "pandas", "arrow", None])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_dataset_is_read_whatever_format_it_gives_its_rows_in(form: str | None, *, streamed: bool):
    pytest.importorskip("datasets", reason="datasets is not installed")
    stored = to_dataset(GROUPS[:2]).with_format(form)
    assert list(calipers.read_groups(stored.to_iterable_dataset() if streamed else stored)) == GROUPS[:2]


@pytest.mark.heavy
@pytest.mark.parametrize("level", ["trajectory", "group"])
def test_a_dataset_of_results_has_the_same_columns_and_types_whatever_is_missing(level: Any):
    pytest.importorskip("datasets", reason="datasets is not installed")
    whole = to_dataset([RESULT], level).features
    assert whole == to_dataset([NONE_SCORED], level).features == to_dataset([], level).features
    assert list(whole) == list(result_rows([RESULT], level)[0])


@pytest.mark.parametrize("make", [result_rows, to_pandas, to_dataset])
@pytest.mark.parametrize(
    ("items", "said"),
    [(RESULT, r"in a list, not GroupResult: write \[result\]"), ([{"id": "a"}], "not dict; calipers")],
)
def test_what_is_no_list_of_results_is_refused(make: Any, items: Any, said: str):
    pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("datasets", reason="datasets is not installed")
    with pytest.raises(TypeError, match=said):
        make(items)


@pytest.mark.heavy
def test_missing_values_of_a_data_frame_are_missing_whatever_they_are_called():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    rows: list[dict[str, Any]] = [
        {"group_id": "a", "trajectories": [[ASKED]], "step": 1},
        {"group_id": "b", "trajectories": [[ASKED]]},
    ]
    for missing in (pd.NA, pd.NaT, float("nan"), None):
        frame = pd.DataFrame(
            [rows[0] | {"rubric": "Be kind."}, rows[1] | {"step": missing, "rubric": missing}], dtype=object
        )
        first, second = calipers.read_groups(frame)
        assert (first.rubric, second.rubric, dict(second.extra)) == ("Be kind.", None, {})


@pytest.mark.heavy
def test_a_data_frame_of_groups_comes_back_whole():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame([group.to_dict() for group in GROUPS])
    found = list(calipers.read_groups(frame))
    assert [group.group_id for group in found] == [group.group_id for group in GROUPS]
    assert [one.messages for one in found[0].trajectories] == [one.messages for one in GROUPS[0].trajectories]
