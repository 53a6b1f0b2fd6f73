from __future__ import annotations

import gzip
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.inputs.jsonl import decompressed_stream, json_line_rows, parse_json_line


def read(data: bytes, **options: Any) -> list[tuple[int, Any]]:
    return list(json_line_rows(decompressed_stream(io.BytesIO(data)), **options))


@given(st.binary() | st.binary().map(lambda data: b"\x1f\x8b\x08" + data))
def test_any_bytes_are_objects_or_reasons(data: bytes) -> None:
    for number, value in read(data):
        assert number >= 1
        assert isinstance(value, dict) or (isinstance(value, str) and value)


@given(
    st.lists(st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))), max_size=5)
)
def test_written_lines_are_read_back_with_their_numbers(objects: list[dict[str, str]]) -> None:
    data = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects).encode()
    expected = list(enumerate(objects, start=1))
    assert read(data) == read(gzip.compress(data)) == expected


def test_blank_lines_carriage_returns_and_a_byte_order_mark_are_no_trouble() -> None:
    assert read(b'\xef\xbb\xbf{"a":1}\r\n\r\n  \n{"b":2}') == [(1, {"a": 1}), (4, {"b": 2})]


def test_an_object_spread_over_lines_is_one_error_and_a_broken_first_line_is_only_that() -> None:
    spread = json.dumps([{"group_id": "g"}], indent=1).encode()
    ((number, reason),) = read(spread)
    assert number == 1
    assert "jq -c" in str(reason)
    assert [type(value) for _, value in read(b'{\n{"a": 1}\n{"b": 2}')] == [str, dict, dict]
    assert [type(value) for _, value in read(b"{")] == [str]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a": }', "not JSON: Expecting value at column 7, near '{\"a\": }'"),
        (b'{"a": [1,', "not complete JSON: the line ends inside the object"),
        (b'[{"role": "user"}]', "the line is a list, not an object with 'trajectories'; wrap the message lists"),
        (b'"x"', "the line is text, not an object with 'trajectories'"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 8 of the line; save the file as UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "not UTF-8 but UTF-16; save the file as UTF-8"),
        (b"\x28\xb5\x2f\xfd\x04\x00", "compressed with zstd, which is not read; decompress the file, or compress it"),
        (b"\xfd7zXZ\x00\x00\x04", "compressed with xz, which is not read"),
        (b"[" * 200_000, "not readable: nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not readable JSON: "),
    ],
)
def test_what_is_wrong_with_a_line_is_said(line: bytes, reason: str) -> None:
    value = parse_json_line(line)
    assert isinstance(value, str)
    assert value.startswith(reason)


def test_lone_surrogates_become_replacement_characters() -> None:
    assert parse_json_line(rb'{"a\ud800": ["\uDBFFx", "\ud83d\ude00"]}') == {"a\ufffd": ["\ufffdx", "\U0001f600"]}


def test_a_line_over_the_limit_is_refused_and_the_next_one_read() -> None:
    data = b'{"a":"' + b"x" * 3 * 2**20 + b'"}\n{"b":2}\n'
    (first, second) = read(data, max_line=2**20)
    assert first[0] == 1
    assert first[1].startswith("the line is longer than 1 MB")
    assert second == (2, {"b": 2})


def test_a_line_of_exactly_the_limit_is_read() -> None:
    assert read(b'{"a":1}\n{"b":2}', max_line=7) == [(1, {"a": 1}), (2, {"b": 2})]


def test_a_cut_off_or_damaged_archive_gives_what_came_before() -> None:
    lines = b"".join(b'{"a":%d}\n' % number for number in range(20_000))
    packed = gzip.compress(lines)
    for broken in (packed[:-20], packed[: len(packed) // 2], packed[:-8] + bytes(8)):
        found = read(broken)
        assert found[0] == (1, {"a": 0})
        assert isinstance(found[-1][1], str)
        assert "breaks off or is damaged here" in found[-1][1]
