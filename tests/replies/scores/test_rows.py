"""Rows of scores: which field is the score."""

from __future__ import annotations

import json

from calipers.replies.scores.scores import extract_scores


def test_a_word_for_a_remark_in_one_language_and_a_score_in_another_is_a_score_beside_a_remark() -> None:
    rows = [{"id": "KB", "note": 80, "commentaire": "bon"}, {"id": "BC", "note": "30/100", "commentaire": "mauvais"}]
    assert extract_scores(json.dumps(rows), ["KB", "BC"], scale=(0, 100)).scores == {"KB": 80, "BC": 30}
