from __future__ import annotations

import datetime as dt
import decimal
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs import as_group, read_groups

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (calipers[parquet]): Parquet is not tested")
pq = pytest.importorskip("pyarrow.parquet")

GROUPS: list[dict[str, Any]] = [
    {
        "group_id": "g1",
        "context": [{"role": "user", "content": "q"}],
        "trajectories": [
            {
                "id": "a",
                "messages": [
                    {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
                    },
                    {"role": "tool", "content": "r", "tool_call_id": "c"},
                ],
                "gold": 1.0,
                "metadata": {"k": "v"},
            },
            {"id": "b", "messages": [{"role": "assistant", "content": "a"}], "metadata": {"other": 1}},
        ],
        "source": "mine",
    },
    {"group_id": "g2", "trajectories": [{"id": "a", "messages": [{"role": "assistant", "content": "x"}], "gold": 0.5}]},
]


def written(path: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    target = path / "groups.parquet"
    pq.write_table(pa.Table.from_pylist(rows, **options), target)
    return target


def test_nested_columns_read_like_the_same_groups_as_lines(tmp_path: Path) -> None:
    assert list(read_groups(written(tmp_path, GROUPS))) == [as_group(group) for group in GROUPS]


def test_columns_of_json_text_read_alike(tmp_path: Path) -> None:
    as_text = [
        {key: item if isinstance(item, str) else json.dumps(item) for key, item in group.items()} for group in GROUPS
    ]
    assert list(read_groups(written(tmp_path, as_text))) == [as_group(group) for group in GROUPS]
    inner = [
        {
            **group,
            "trajectories": [
                {**one, "messages": json.dumps(one["messages"]), "metadata": json.dumps(one.get("metadata", {}))}
                for one in group["trajectories"]
            ],
        }
        for group in GROUPS
    ]
    assert list(read_groups(written(tmp_path, inner))) == [as_group(group) for group in GROUPS]


def test_content_that_looks_like_json_stays_text(tmp_path: Path) -> None:
    group = {"group_id": "g", "trajectories": [{"id": "a", "messages": [{"role": "user", "content": '{"a": 1}'}]}]}
    (read,) = read_groups(written(tmp_path, [group]))
    assert read.trajectories[0].messages[0]["content"] == '{"a": 1}'


def test_maps_decimals_and_times_become_plain(tmp_path: Path) -> None:
    group = {
        "trajectories": json.dumps([{"id": "a", "messages": []}]),
        "price": decimal.Decimal("1.50"),
        "when": dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
        "took": dt.timedelta(seconds=90),
        "raw": b"ab",
        "tags": [("k", 1), ("none", None)],
        "absent": {"x": None},
        "nothing": None,
    }
    schema = pa.schema(
        [
            ("trajectories", pa.string()),
            ("price", pa.decimal128(5, 2)),
            ("when", pa.timestamp("us", tz="UTC")),
            ("took", pa.duration("s")),
            ("raw", pa.binary()),
            ("tags", pa.map_(pa.string(), pa.int64())),
            ("absent", pa.struct([("x", pa.int64())])),
            ("nothing", pa.string()),
        ]
    )
    (read,) = read_groups(written(tmp_path, [group], schema=schema))
    assert read.extra == {
        "price": 1.5,
        "when": "2026-01-02T00:00:00+00:00",
        "took": 90.0,
        "raw": "ab",
        "tags": {"k": 1},
    }


def test_bad_rows_are_reported_by_number_and_the_rest_is_read(tmp_path: Path) -> None:
    good = json.dumps([{"id": "a", "messages": []}])
    rows = [{"group_id": str(n), "trajectories": text} for n, text in enumerate([good, "[{", '["x"]', good])]
    path = written(tmp_path, rows)
    errors: list[InputError] = []
    assert [group.group_id for group in read_groups(path, on_error=errors.append)] == ["0", "3"]
    assert [error.line for error in errors] == [2, 3]
    assert "a column of JSON text is not JSON" in str(errors[0])


def test_json_text_that_python_cannot_hold_is_a_bad_row_and_no_traceback(tmp_path: Path) -> None:
    """Python refuses integers of thousands of digits, and nesting of thousands of levels, with errors of its own."""
    texts = ["[" * 100_000, f'[{{"id": "a", "messages": [], "gold": {"9" * 5_000}}}]']
    path = written(tmp_path, [{"group_id": str(number), "trajectories": text} for number, text in enumerate(texts)])
    errors: list[InputError] = []
    assert list(read_groups(path, on_error=errors.append)) == []
    assert "not readable: nested too deeply" in str(errors[0])
    assert "a column of JSON text is not readable JSON: Exceeds the limit" in str(errors[1])


def test_a_file_of_other_columns_says_which_it_has(tmp_path: Path) -> None:
    path = written(tmp_path, [{"prompt": "x", "ability": "y"}])
    with pytest.raises(InputError, match="has no list of trajectories but the keys prompt, ability"):
        list(read_groups(path))


def test_what_is_not_parquet_is_refused_and_parquet_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    fake = tmp_path / "x.parquet"
    fake.write_bytes(b'{"a": 1}')
    with pytest.raises(InputError, match="is not a readable Parquet file"):
        list(read_groups(fake))
    renamed = written(tmp_path, GROUPS).rename(tmp_path / "groups.data")
    assert len(list(read_groups(renamed))) == 2


def test_a_file_without_rows_holds_no_groups(tmp_path: Path) -> None:
    schema = pa.schema([("trajectories", pa.string())])
    with pytest.raises(InputError, match="holds no groups"):
        list(read_groups(written(tmp_path, [], schema=schema)))


def test_without_pyarrow_one_sentence_says_how_to_get_it(tmp_path: Path) -> None:
    path = written(tmp_path, GROUPS)
    program = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from calipers.errors import ConfigError\n"
        "from calipers.inputs import read_groups\n"
        "try:\n    list(read_groups(sys.argv[1]))\n"
        "except ConfigError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == "reading Parquet needs pyarrow: pip install 'calipers[parquet]'\n"


ROLLOUT: list[dict[str, Any]] = [
    {"role": "user", "content": "q"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": "x"}}},
            {"id": "2", "type": "function", "function": {"name": "g", "arguments": {"b": 1}}},
        ],
    },
    {"role": "tool", "content": None, "tool_call_id": "1"},
]


def test_arguments_of_a_rollout_have_no_keys_of_other_rows(tmp_path: Path) -> None:
    path = written(tmp_path, [{"messages": ROLLOUT, "meta": {"k": None}}, {"messages": ROLLOUT[:1], "meta": {"k": 1}}])
    (group,) = read_groups(path)
    first = group.trajectories[0]
    calls = first.messages[0]["tool_calls"]
    assert [call["function"]["arguments"] for call in calls] == ['{"a":"x"}', '{"b":1}']
    assert first.messages[1] == {"role": "tool", "content": "", "tool_call_id": "1"}
    assert first.metadata == {}


def test_messages_of_a_rollout_may_be_json_text(tmp_path: Path) -> None:
    path = written(tmp_path, [{"messages": json.dumps(ROLLOUT)}, {"messages": "[oops"}])
    problems: list[InputError] = []
    (group,) = read_groups(path, on_error=problems.append)
    assert (group.context, len(group.trajectories[0].messages)) == ((ROLLOUT[0],), 2)
    assert "groups.parquet:2: a column of JSON text is not JSON" in str(problems[0])


def test_rollouts_are_found_by_their_columns_as_in_json_lines(tmp_path: Path) -> None:
    (group,) = read_groups(written(tmp_path, [{"prompt": "p", "completion": "a"}, {"prompt": "p", "completion": "b"}]))
    assert [one.messages[0]["content"] for one in group.trajectories] == ["a", "b"]
    (group,) = read_groups(written(tmp_path, [{"messages": ROLLOUT[:1]}]))
    assert len(group.context) == 1
