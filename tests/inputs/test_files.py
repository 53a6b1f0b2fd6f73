from __future__ import annotations

import gzip
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

GROUP: dict[str, Any] = {
    "group_id": "g1",
    "trajectories": [{"id": "a", "messages": [{"role": "user", "content": "q"}]}],
}


def line(**fields: Any) -> bytes:
    return json.dumps(GROUP | fields).encode() + b"\n"


def nameless(text: str) -> bytes:
    return json.dumps([{"messages": [{"role": "user", "content": text}]}]).encode()


def collected(path: Path) -> tuple[list[str], list[str]]:
    errors: list[InputError] = []
    found = [group.group_id for group in read_groups(path, on_error=errors.append)]
    assert all(error.source == str(path) for error in errors)
    return found, [str(error).removeprefix(f"{path}:") for error in errors]


@pytest.mark.parametrize("name", ["g.jsonl", "g.jsonl.gz", "g.txt", "g.json"])
def test_groups_are_read_in_order_whatever_the_file_is_called(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    data = line() + line(group_id=2)
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert list(read_groups(path)) == [as_group(GROUP), as_group(GROUP | {"group_id": "2"})]


def test_gzip_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    path.write_bytes(gzip.compress(line()))
    assert collected(path) == (["g1"], [])


def test_bad_lines_are_reported_with_their_number_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    path.write_bytes(
        line()
        + b"\nnot json\n"
        + line(group_id="g2", trajectories=[])
        + line()
        + line(group_id="g3", trajectories=[{"messages": [{"content": "x"}]}])
        + line(group_id="g4")
    )
    found, errors = collected(path)
    assert found == ["g1", "g4"]
    assert [error.partition(" ")[0] for error in errors] == ["3:", "4:", "5:", "6:"]
    assert errors[0].startswith("3: not JSON: Expecting value at column 1")
    assert errors[1] == "4: has no trajectories; a group needs at least one"
    assert errors[2] == "5: the group_id 'g1' was used on line 1; each group needs its own"
    assert errors[3].startswith("6: trajectory '1': message 1 has no 'role'; expected")


@pytest.mark.parametrize("strict", [True, False])
def test_without_a_place_for_errors_or_with_strict_the_first_one_is_raised(tmp_path: Path, *, strict: bool) -> None:
    path = tmp_path / "g.jsonl"
    path.write_bytes(line() + b"{\n" + line(group_id="g2"))
    reported: list[InputError] = []
    groups = read_groups(path, strict=strict, on_error=reported.append if strict else None)
    assert next(groups).group_id == "g1"
    with pytest.raises(InputError, match=r"g\.jsonl:2: not complete JSON") as raised:
        next(groups)
    assert (raised.value.source, raised.value.line) == (str(path), 2)
    assert reported == []


def test_lines_without_an_id_get_one_from_their_content_also_when_it_repeats(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    one, other = ({"trajectories": [[{"role": "user", "content": text}]]} for text in "ab")
    path.write_text("".join(json.dumps(group) + "\n" for group in (one, other, one, one)))
    found, errors = collected(path)
    drawn = as_group(one).group_id
    assert found == [drawn, as_group(other).group_id, f"{drawn}-2", f"{drawn}-3"]
    assert errors == []


def test_a_json_file_may_hold_an_array_or_one_group_over_many_lines(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text(json.dumps([GROUP, GROUP | {"group_id": "g2"}, 5], indent=1))
    assert collected(path) == (["g1", "g2"], ["3: the entry is a number, not an object with 'trajectories'"])
    path.write_text(json.dumps(GROUP, indent=1))
    assert collected(path) == (["g1"], [])
    path.write_text("[1,")
    with pytest.raises(InputError, match="is not JSON"):
        collected(path)


def test_groups_over_many_lines_in_a_jsonl_file_are_told_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl"
    path.write_text(json.dumps(GROUP, indent=1))
    assert "one group a line" in collected(path)[1][0]


@pytest.mark.parametrize("content", [b"", b"\n \r\n", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["g.jsonl", "g.json", "g.jsonl.gz"])
def test_a_file_without_groups_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(InputError, match="holds no groups; expected one JSON object a line"):
        collected(path)


def test_paths_that_are_no_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        list(read_groups(tmp_path / "none.jsonl"))
    with pytest.raises(InputError, match="is a directory; name a file in it"):
        list(read_groups(tmp_path))
    wrong = tmp_path / "g.jsonl.gz"
    wrong.write_bytes(line())
    with pytest.raises(InputError, match=r"is named \.gz but is not gzip"):
        list(read_groups(wrong))


def test_a_cut_off_archive_is_a_bad_line_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "g.jsonl.gz"
    whole = gzip.compress(b"".join(line(group_id=str(number), noise=os.urandom(50).hex()) for number in range(2000)))
    path.write_bytes(whole[:-500])
    found, errors = collected(path)
    assert found == [str(number) for number in range(len(found))]
    assert len(found) > 1000
    assert len(errors) == 1
    assert "breaks off or is damaged here" in errors[0]


def test_a_dash_is_standard_input() -> None:
    program = "from calipers.inputs import read_groups\nfor group in read_groups('-'): print(group.group_id)"
    for data in (line(), gzip.compress(line())):
        done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, check=True)
        assert done.stdout.split() == [b"g1"]


ROLLOUT = {"prompt": "q", "completion": "a"}


@pytest.mark.parametrize(
    ("given", "reader", "said"),
    [
        ([ROLLOUT], "rolouts", "unknown reader 'rolouts'"),
        ([ROLLOUT], "", "unknown reader ''"),
        ([ROLLOUT], 3, "unknown reader '3'"),
        ([ROLLOUT], "parquet", "reader='parquet' reads files, and here are rows of <list>"),
        ([GROUP, ROLLOUT], None, "<list>:2: is one rollout among groups"),
        ([json.dumps(GROUP)], None, "<list>:1: is text where a group is needed"),
        ({"prompt": ["q"], "completion": ["a"]}, None, "it has the columns prompt, completion, and no rows"),
    ],
)
def test_rows_in_memory_that_would_be_groups_of_one_are_refused(given: Any, reader: Any, said: str) -> None:
    with pytest.raises(CalipersError, match=said):
        list(read_groups(given, reader=reader))


def test_a_reader_of_files_is_refused_for_standard_input() -> None:
    code = "import calipers; print(list(calipers.read_groups('-', reader='parquet')))"
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(ROLLOUT), capture_output=True, text=True, check=False
    )
    assert "reader='parquet' reads files, and here are rows of <stdin>" in done.stderr


def test_reading_files_imports_nothing_heavy() -> None:
    program = "import sys, calipers.inputs\nprint(sorted({'pyarrow', 'numpy', 'aiohttp'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@given(st.lists(st.binary(max_size=40) | st.sampled_from([line(), line(group_id="x"), nameless("q")]), max_size=6))
def test_any_bytes_are_groups_and_reports(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(b"{}\n" + b"\n".join(lines))
    found, errors = collected(path)
    assert len(set(found)) == len(found)
    assert len(errors) >= 1


@pytest.mark.data
def test_every_recorded_groups_file_is_read_without_a_bad_line() -> None:
    folder = Path(os.environ.get("CALIPERS_DATA") or Path(__file__).parents[3] / "shared" / "data")
    files = sorted(folder.glob("*/groups.jsonl.gz"))
    if not files:
        pytest.skip(f"no recorded groups under {folder}: set CALIPERS_DATA to where they are")
    for path in files:
        found, errors = collected(path)
        assert errors == []
        assert len(found) == gzip.decompress(path.read_bytes()).count(b"\n")
