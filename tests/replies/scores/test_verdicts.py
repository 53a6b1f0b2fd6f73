"""JSON shapes of verdicts: how many rows are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from calipers.replies.scores.rows import MAX_ROWS
from calipers.replies.scores.scores import extract_scores

SHAPES: dict[str, Any] = {
    "rows": lambda ids: [{"id": id_, "grade": 0.5} for id_ in ids],
    "wrapped rows": lambda ids: {"verdict": [{"id": id_, "grade": 0.5} for id_ in ids]},
    "keyed": lambda ids: {"count": 1, "result": dict.fromkeys(ids, 0.5)},
    "parallel lists": lambda ids: {"ids": ids, "scores": [0.5] * len(ids)},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_4000_rows_are_read_and_a_larger_document_is_not_searched(shape: str) -> None:
    ids = [str(number) for number in range(MAX_ROWS + 1)]
    assert MAX_ROWS == 4_000
    most = extract_scores(json.dumps(SHAPES[shape](ids[:-1])), ids[:-1])
    assert most.scores == dict.fromkeys(ids[:-1], 0.5)
    assert extract_scores(json.dumps(SHAPES[shape](ids)), ids).scores == {}
