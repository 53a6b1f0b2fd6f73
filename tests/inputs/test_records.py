"""Files and tables are rows with numbers; what cannot be read is named with its number, and the rest is read."""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import CalipersError, InputError
from calipers.inputs import as_group, read_groups
from calipers.inputs.records import decompressed_stream, json_line_rows, parse_json_line
from inputs.written import ANSWER, ASKED, call, calling, read, result, written

GROUP: dict[str, Any] = {"group_id": "g1", "trajectories": [{"id": "a", "messages": [ASKED]}]}


def line(**fields: Any) -> bytes:
    return json.dumps(GROUP | fields).encode() + b"\n"


def rows(data: bytes, **options: Any) -> list[tuple[int, Any]]:
    return list(json_line_rows(decompressed_stream(io.BytesIO(data)), **options))


def ids(path: Path) -> tuple[list[str], list[str]]:
    groups, problems = read(path)
    return [group.group_id for group in groups], problems


@given(st.binary() | st.binary().map(lambda data: b"\x1f\x8b\x08" + data))
def test_any_bytes_are_objects_or_reasons(data: bytes) -> None:
    for number, value in rows(data):
        assert number >= 1
        assert isinstance(value, dict) or (isinstance(value, str) and value)


encodable = st.text(st.characters(codec="utf-8"))


@given(st.lists(st.dictionaries(encodable, encodable), max_size=5))
def test_written_lines_are_read_back_with_their_numbers(objects: list[dict[str, str]]) -> None:
    data = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects).encode()
    assert rows(data) == rows(gzip.compress(data)) == list(enumerate(objects, start=1))


LINES: list[tuple[bytes, str]] = [
    (b'{"a": }', "column 7, near '{\"a\": }'"),
    (b'{"a": [1,', "not complete JSON"),
    (b'[{"role": "user"}]', "a groups file has"),
    (b'"x"', "is text, not an object"),
    (b'{"a": "\xff"}', "not UTF-8 at byte 8"),
    ('{"a": 1}'.encode("utf-16"), "UTF-16"),
    (b"\x28\xb5\x2f\xfd\x04\x00", "zstd"),
    (b"\xfd7zXZ\x00\x00\x04", "xz"),
    (b"SQLite format 3\0", "SQLite"),
    (b"[" * 200_000, "nested too deeply"),
    (b'{"a": ' + b"9" * 5000 + b"}", "not readable JSON"),
]


def test_lines_are_read_as_they_are_meant_and_what_is_wrong_with_one_is_said() -> None:
    assert rows(b'\xef\xbb\xbf{"a":1}\r\n\r\n  \n{"b":2}') == [(1, {"a": 1}), (4, {"b": 2})]
    assert parse_json_line(rb'{"a\ud800": ["\uDBFFx", "\ud83d\ude00"]}') == {"a\ufffd": ["\ufffdx", "\U0001f600"]}
    first, second = rows(b'{"a":"' + b"x" * 3 * 2**20 + b'"}\n{"b":2}\n', max_line=2**20)
    assert ("longer than 1 MB" in first[1], second) == (True, (2, {"b": 2}))
    assert not [(given, said) for given, word in LINES if word not in str(said := parse_json_line(given))]
    assert not [(given, said) for given, word in LINES if word not in str(said := rows(given)[0][1])]


def test_a_cut_off_or_damaged_archive_gives_what_came_before(tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(b'{"a":%d}\n' % number for number in range(20_000)))
    for broken in (packed[:-20], packed[: len(packed) // 2], packed[:-8] + bytes(8)):
        found = rows(broken)
        assert found[0] == (1, {"a": 0})
        assert "breaks off or is damaged here" in found[-1][1]


def test_groups_are_read_in_order_whatever_the_file_is_called(tmp_path: Path) -> None:
    data = line() + line(group_id=2)
    for name, content in (("g.jsonl", data), ("g.txt", data), ("g.json", data), ("g.jsonl.gz", gzip.compress(data))):
        (tmp_path / name).write_bytes(content)
        assert list(read_groups(tmp_path / name)) == [as_group(GROUP), as_group(GROUP | {"group_id": "2"})]
    (tmp_path / "zipped.jsonl").write_bytes(gzip.compress(line()))
    assert ids(tmp_path / "zipped.jsonl") == (["g1"], [])


def test_bad_lines_are_reported_with_their_number_and_the_rest_is_read(tmp_path: Path) -> None:
    bad = [b"not json\n", line(group_id="g2", trajectories=[]), line(), line(trajectories=[{"messages": [{}]}])]
    path = written(tmp_path / "g.jsonl", line(), b"\n", *bad, line(group_id="g4"))
    found, problems = ids(path)
    assert found == ["g1", "g4"]
    assert [problem.partition(" ")[0] for problem in problems] == [":3:", ":4:", ":5:", ":6:"]
    assert "the group_id 'g1' was used on line 1" in problems[2]


def test_without_a_place_for_errors_or_with_strict_the_first_one_is_raised(tmp_path: Path) -> None:
    path = written(tmp_path / "g.jsonl", line(), b'{"a": 1\n', line(group_id="g2"))
    for strict in (True, False):
        reported: list[InputError] = []
        groups = read_groups(path, strict=strict, on_error=reported.append if strict else None)
        assert next(groups).group_id == "g1"
        with pytest.raises(InputError, match=r"g\.jsonl:2: not complete JSON") as raised:
            next(groups)
        assert (raised.value.source, raised.value.line, reported) == (str(path), 2, [])


def test_lines_without_an_id_get_one_from_their_content_also_when_it_repeats(tmp_path: Path) -> None:
    one, other = ({"trajectories": [[{"role": "user", "content": text}]]} for text in "ab")
    drawn = as_group(one).group_id
    expected = [drawn, as_group(other).group_id, f"{drawn}-2", f"{drawn}-3"]
    assert ids(written(tmp_path / "g.jsonl", one, other, one, one)) == (expected, [])


def test_a_json_file_may_hold_an_array_or_one_group_over_many_lines(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text(json.dumps([GROUP, GROUP | {"group_id": "g2"}, 5], indent=1))
    assert ids(path) == (["g1", "g2"], [":3: the entry is a number, not an object"])
    path.write_text(json.dumps(GROUP, indent=1))
    assert ids(path) == (["g1"], [])
    path.write_bytes(b"{broken\n" + line())
    assert ids(path)[0] == ["g1"]
    path.rename(tmp_path / "g.jsonl").write_text(json.dumps(GROUP, indent=1))
    assert "jq -c" in ids(tmp_path / "g.jsonl")[1][0]


def test_files_without_groups_and_paths_that_are_no_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "cut.json").write_bytes(b"[1,")
    (tmp_path / "plain.jsonl.gz").write_bytes(line())
    (tmp_path / "a.csv").write_text("prompt,completion\nq,a\nq,b\n")
    for name in ("empty.jsonl", "empty.json"):
        (tmp_path / name).write_bytes(b"\xef\xbb\xbf\n \r\n")
    (tmp_path / "empty.jsonl.gz").write_bytes(gzip.compress(b""))
    for name, reason in (
        ("none.jsonl", "there is no such file"),
        ("", "is a directory; name a file in it"),
        ("plain.jsonl.gz", r"is named \.gz but is not gzip"),
        ("cut.json", "not complete JSON"),
        ("a.csv", r"to_json.*orient='records', lines=True"),
        ("empty.jsonl", "holds no groups"),
        ("empty.json", "holds no groups"),
        ("empty.jsonl.gz", "holds no groups"),
    ):
        with pytest.raises(InputError, match=reason):
            list(read_groups(tmp_path / name))


def test_a_dash_is_standard_input_and_reading_imports_nothing_heavy() -> None:
    program = (
        "import sys\nfrom calipers.inputs import read_groups\nfor group in read_groups('-'): print(group.group_id)\n"
        "print(sorted({'pyarrow', 'numpy', 'aiohttp'} & set(sys.modules)))"
    )
    for content in (line(), gzip.compress(line())):
        done = subprocess.run([sys.executable, "-c", program], input=content, capture_output=True, check=True)
        assert done.stdout.split() == [b"g1", b"[]"]


ROLLOUT = {"prompt": "q", "completion": "a"}


def test_rows_in_memory_and_readers_that_cannot_fit_are_refused() -> None:
    cases: list[tuple[Any, dict[str, Any], str]] = [
        ([ROLLOUT], {"reader": "rolouts"}, "unknown reader 'rolouts'"),
        ([ROLLOUT], {"reader": ""}, "unknown reader ''"),
        ([ROLLOUT], {"reader": "parquet"}, "reader='parquet' reads files, and here are rows of <list>"),
        ([GROUP, ROLLOUT], {}, "<list>:2: is a rollout in a file"),
        ([json.dumps(GROUP)], {}, "<list>:1: is text where a group is needed"),
        ({"prompt": ["q"], "completion": ["a"]}, {}, "it has the columns prompt, completion, and no rows"),
        ({"train": [GROUP]}, {}, "it has the splits train"),
        ([GROUP], {"prepare": 3}, "prepare=3: it must be a function"),
        ([GROUP], {"prepare": lambda _: None}, "<list>:1: prepare= returned NoneType; it must return"),
    ]
    for given_rows, options, said in cases:
        with pytest.raises(CalipersError, match=said):
            list(read_groups(given_rows, **options))


@pytest.mark.data
def test_every_recorded_groups_file_is_read_without_a_bad_line() -> None:
    folder = Path(os.environ.get("CALIPERS_DATA") or Path(__file__).parents[3] / "shared" / "data")
    files = sorted(folder.glob("*/groups.jsonl.gz"))
    if not files:
        pytest.skip(f"no recorded groups under {folder}: set CALIPERS_DATA to where they are")
    for path in files:
        found, errors = ids(path)
        assert errors == []
        assert len(found) == gzip.decompress(path.read_bytes()).count(b"\n")


# --- tables ---

GROUPS: list[dict[str, Any]] = [
    {
        "group_id": "g1",
        "context": [{"role": "user", "content": '{"a": 1}'}],
        "trajectories": [
            {
                "id": "a",
                "messages": [calling(call("c", "f", "{}")), result("r", "c")],
                "gold": 1.0,
                "metadata": {"k": "v"},
            },
            {"id": "b", "messages": [ANSWER], "metadata": {"other": 1}},
        ],
        "source": "mine",
    },
    {"group_id": "g2", "trajectories": [{"id": "a", "messages": [ANSWER], "gold": 0.5}]},
]


def parquet(path: Path, given_rows: list[dict[str, Any]], **options: Any) -> Path:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (calipers[parquet]): Parquet is not tested")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.Table.from_pylist(given_rows, **options), path / "groups.parquet")
    return path / "groups.parquet"


def as_text(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item if isinstance(item, str) else json.dumps(item) for key, item in value.items()}


def test_columns_nested_or_as_json_text_read_like_the_same_groups_as_lines(tmp_path: Path) -> None:
    inner = [{**group, "trajectories": [as_text(one) for one in group["trajectories"]]} for group in GROUPS[1:]]
    inner[0]["trajectories"][0]["gold"] = 0.5
    for given_rows, expected in ((GROUPS, GROUPS), (list(map(as_text, GROUPS)), GROUPS), (inner, GROUPS[1:])):
        path = parquet(tmp_path, given_rows)
        assert list(read_groups(path)) == list(map(as_group, expected))
    renamed = path.rename(tmp_path / "groups.data")  # known by its first bytes
    assert len(list(read_groups(renamed))) == 1


def test_maps_decimals_and_times_become_plain(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    values: dict[str, tuple[Any, Any, Any]] = {
        "price": (decimal.Decimal("1.50"), pa.decimal128(5, 2), 1.5),
        "when": (dt.datetime(2026, 1, 2, tzinfo=dt.UTC), pa.timestamp("us", tz="UTC"), "2026-01-02T00:00:00+00:00"),
        "took": (dt.timedelta(seconds=90), pa.duration("s"), 90.0),
        "raw": (b"ab", pa.binary(), "ab"),
        "tags": ([("k", 1), ("none", None)], pa.map_(pa.string(), pa.int64()), {"k": 1}),
        "absent": ({"x": None}, pa.struct([("x", pa.int64())]), None),
        "nothing": (None, pa.string(), None),
    }
    schema = pa.schema([("trajectories", pa.string()), *((key, kind) for key, (_, kind, _) in values.items())])
    group = {"trajectories": json.dumps([{"id": "a", "messages": []}])} | {
        key: one for key, (one, *_) in values.items()
    }
    (found,) = read_groups(parquet(tmp_path, [group], schema=schema))
    assert found.extra == {key: plain for key, (_, _, plain) in values.items() if plain is not None}


def test_bad_rows_are_reported_by_number_and_the_rest_is_read(tmp_path: Path) -> None:
    good = json.dumps([{"id": "a", "messages": []}])
    texts = [good, "[{", '["x"]', "[" * 100_000, f'[{{"id": "a", "messages": [], "gold": {"9" * 5_000}}}]', good]
    found, problems = ids(
        parquet(tmp_path, [{"group_id": str(n), "trajectories": text} for n, text in enumerate(texts)])
    )
    assert found == ["0", "5"]
    assert [problem.partition(" ")[0] for problem in problems] == [":2:", ":3:", ":4:", ":5:"]
    named = ("is not JSON", "is not JSON", "nested too deeply", "not readable JSON")
    assert not [(name, problem) for name, problem in zip(named, problems, strict=True) if name not in problem]


def test_other_columns_no_rows_and_what_is_not_parquet_are_refused_and_a_missing_package_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="keys: prompt, ability"):
        list(read_groups(parquet(tmp_path, [{"prompt": "x", "ability": "y"}])))
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(InputError, match="holds no groups"):
        list(read_groups(parquet(tmp_path, [], schema=pa.schema([("trajectories", pa.string())]))))
    (tmp_path / "x.parquet").write_bytes(b'{"a": 1}')
    with pytest.raises(InputError, match="is not a readable Parquet file"):
        list(read_groups(tmp_path / "x.parquet"))
    path = parquet(tmp_path, GROUPS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CalipersError, match=r"calipers\[parquet\]"):
        list(read_groups(path))


def test_rollouts_of_a_table_have_no_keys_of_other_rows(tmp_path: Path) -> None:
    calls = [{"id": str(n), "type": "function", "function": {"name": "f", "arguments": {f"a{n}": n}}} for n in (1, 2)]
    messages: list[dict[str, Any]] = [ASKED, calling(*calls), result(None, "1")]
    path = parquet(
        tmp_path, [{"messages": messages, "meta": {"k": None}}, {"messages": messages[:1], "meta": {"k": 1}}]
    )
    (group,) = read_groups(path)
    asked, told = group.trajectories[0].messages
    assert [call["function"]["arguments"] for call in asked["tool_calls"]] == ['{"a1":1}', '{"a2":2}']
    assert (told, group.trajectories[0].metadata) == (result("", "1"), {})
    groups, problems = read(parquet(tmp_path, [{"messages": json.dumps(messages)}, {"messages": "[oops"}]))
    assert len(groups[0].trajectories[0].messages) == 2
    assert ":2: a column of JSON text is not JSON" in problems[0]
