"""Other people's judges are read in their own formats; what stands elsewhere, or twice, or is taken back, is not.

``fixtures/formats.jsonl`` was written for calipers; the lines that are ``held`` were not looked at while the formats'
rules were written.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import ConfigError
from calipers.replies.compare.choice import extract_choice
from calipers.replies.compare.ranking import extract_ranking
from calipers.replies.criteria.verdict import extract_verdict
from calipers.replies.formats.known import format_named, known_formats
from calipers.replies.scores.scores import extract_scores

FIXTURE = Path(__file__).parents[2] / "fixtures" / "formats.jsonl"
ROWS = [json.loads(line) for line in FIXTURE.read_text(encoding="utf-8").splitlines()]
DATA = Path(os.environ.get("CALIPERS_DATA") or Path(__file__).resolve().parents[4] / "shared" / "data")
SCALED = [one.name for one in known_formats().values() if one.numbers == "one" and one.scale]


def read(row: dict[str, Any]) -> Any:
    """What the reader of the row's kind says: a label, scores by id, a bool, ids in order; None for nothing."""
    text, name = row["text"], row["format"]
    match row["reader"]:
        case "choice":
            return extract_choice(text, row["labels"], format=name).choice
        case "scores":
            return extract_scores(text, row["ids"], scale=tuple(row["scale"]), format=name).scores or None
        case "verdict":
            return extract_verdict(text, format=name).met
        case _:
            return list(extract_ranking(text, row["ids"], format=name).ranking) or None


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['format']}-{row['text'][:40]!r}" for row in ROWS])
def test_every_reply_of_the_corpus_is_read_as_its_format_says(row: dict[str, Any]) -> None:
    assert read(row) == row["truth"]


def test_the_corpus_has_every_format_and_traps_in_each_half() -> None:
    assert {row["format"] for row in ROWS} == set(known_formats())
    for held in (False, True):
        rows = [row for row in ROWS if row["held"] is held]
        assert len(rows) >= 75
        assert sum(row["truth"] is None for row in rows) >= 40


# --- the table ------------------------------------------------------------------------------------------------------


def test_no_name_means_two_formats() -> None:
    names = [re.sub("_", "", name) for one in known_formats().values() for name in (one.name, *one.aliases)]
    assert [name for name, count in Counter(names).items() if count > 1] == []


@pytest.mark.parametrize("form", known_formats().values(), ids=list(known_formats()))
def test_every_format_says_where_a_value_stands_and_what_can_be_read(form: Any) -> None:
    assert form.reads
    assert form.places or form.keys or form.order or form.numbers == "named"
    assert all("VALUE" in place for place in form.places)
    assert form.judges
    assert form.example


def test_a_format_goes_by_any_spelling_of_its_name() -> None:
    assert format_named("MT-Bench") is format_named("mtbench") is known_formats()["mt_bench"]
    assert format_named("Prometheus 2") is known_formats()["prometheus"]


def test_an_unknown_format_is_an_error_that_names_the_nearest_and_all() -> None:
    with pytest.raises(ConfigError, match=r"unknown format 'mt_bnch'; did you mean 'mt_bench'\?.*arena_hard"):
        extract_choice("[[A]]", ["A", "B"], format="mt_bnch")


def test_a_format_without_what_is_asked_is_an_error_that_names_the_reader() -> None:
    with pytest.raises(ConfigError, match=r"'simpleqa' holds no score; read it with extract_choice or extract_verdict"):
        extract_scores("A", ["a"], format="simpleqa")
    with pytest.raises(ConfigError, match="'arena_hard' holds no verdict"):
        extract_verdict("[[A>B]]", format="arena_hard")


# --- labels, scales, margins ----------------------------------------------------------------------------------------


def test_a_formats_marks_stand_for_labels_in_the_order_shown_unless_they_are_the_labels() -> None:
    assert extract_choice("[[A]]", ["gpt", "qwen"], format="mt_bench").choice == "gpt"
    assert extract_choice("[[A]]", ["B", "A"], format="mt_bench").choice == "A"
    assert extract_choice("M", ["M", "m"], format="alpaca_eval").choice == "M"
    assert extract_choice("M", [7, 9], format="alpaca_eval").choice == 9


def test_grades_and_scores_say_by_how_much() -> None:
    grades = {"[[A>>B]]": 1.0, "[[A>B]]": 0.5, "[[A=B]]": 0.0, "[[B>>A]]": 1.0}
    assert {text: extract_choice(text, ["A", "B"], format="arena_hard").margin for text in grades} == grades
    assert extract_choice("10 1", ["a", "b"], format="vicuna").margin == 1.0
    assert extract_choice("[[A]]", ["a", "b"], format="mt_bench").margin is None


@pytest.mark.parametrize("name", SCALED)
def test_scores_go_from_the_formats_scale_to_the_callers(name: str) -> None:
    low, high = known_formats()[name].scale or (0, 0)
    key = (known_formats()[name].keys or ("score",))[-1]
    texts = (
        f"[[{high:g}]]",
        f"[RESULT] {high:g}",
        f"**Result:** {high:g}",
        json.dumps({key: high}, ensure_ascii=False),
    )
    readings = [extract_scores(text, ["a"], format=name).scores for text in texts]
    text = texts[next(place for place, found in enumerate(readings) if found)]
    assert extract_scores(text, ["a"], format=name).scores == {"a": high}
    assert extract_scores(text, ["a"], scale=(0, 1), format=name).scores == {"a": 1.0}
    lowest = text.replace(f"{high:g}", f"{low:g}")
    assert extract_scores(lowest, ["a"], scale=(-1, 1), format=name).scores == {"a": -1.0}
    assert extract_scores(lowest, ["a"], scale=(0, high), format=name).scores == {"a": low}


def test_a_format_without_a_scale_of_its_own_has_the_callers() -> None:
    assert extract_scores("- Fluency: 3", ["a"], scale=(1, 3), format="g_eval").scores == {"a": 3}
    assert (
        extract_scores("- Fluency: 4", ["a"], scale=(1, 3), format="g_eval").reason
        == "off-scale: 4 is not between 1 and 3"
    )


def test_scores_off_the_formats_scale_are_put_right_only_if_asked() -> None:
    assert extract_scores("[RESULT] 7", ["a"], format="prometheus").doubt
    clamped = extract_scores("[RESULT] 7", ["a"], format="prometheus", out_of_range="clamp")
    assert (clamped.scores, clamped.adjusted) == ({"a": 5}, "clamp")


def test_a_number_at_the_end_of_a_cut_reply_is_not_trusted() -> None:
    cut = extract_scores("Fine. [RESULT] 1", ["a"], format="prometheus", finish_reason="length")
    assert (cut.scores, cut.truncated) == ({}, True)


def test_a_reply_without_its_mark_is_read_in_words_where_two_were_compared() -> None:
    text = "Both are correct. Therefore, based on the quality of the responses, Assistant B is better."
    reading = extract_choice(text, ["gpt", "qwen"], format="mt_bench")
    assert (reading.choice, reading.outcome) == ("qwen", "text")


# --- any text -------------------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    ["[[A]]", "[[", "]]", "[RESULT]", " 4", "8 7", "\n", "A", "m", "M", "{", "}", '"choice": "A+"', "GRADE: C",
     "**Result:**",
     "no, ", "[[A>B]]", "ordered_models", "{'model': 'm', 'rank': 1}", "[", ",", "correct: yes", "<answer>",
     "</answer>"]
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=8), max_size=12).map("".join), st.sampled_from(sorted(known_formats())))
def test_any_text_is_read_without_an_error(text: str, name: str) -> None:
    for kind in known_formats()[name].reads:
        match kind:
            case "choice":
                assert extract_choice(text, ["x", "y"], format=name).choice in ("x", "y", "tie", None)
            case "scores":
                scores = extract_scores(text, ["x"], scale=(0, 1), format=name).scores
                assert all(0 <= value <= 1 for value in scores.values())
            case "verdict":
                assert extract_verdict(text, format=name).met in (True, False, None)
            case _:
                assert set(extract_ranking(text, ["x", "y"], format=name).ranking) <= {"x", "y"}


# --- recorded replies -----------------------------------------------------------------------------------------------


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason=f"no recorded data at {DATA}; set CALIPERS_DATA to read it elsewhere")
def test_recorded_verdicts_and_ratings_are_all_read_as_labelled() -> None:
    found: Counter[str] = Counter()
    with gzip.open(DATA / "posbias_repeat" / "replies.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["format"] == "ab_bracket":
                winner = row["expected"]["winner"]
                read_as = extract_choice(row["raw_text"], ["A", "B"], format="mt_bench").choice
                found["pair right" if read_as == ("tie" if winner == "C" else winner) else "pair not"] += 1
    with gzip.open(DATA / "llmbar" / "judgments.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["mode"] == "pointwise" and row["raw_text"] and row["parsed"]:
                scores = extract_scores(row["raw_text"], row["order"], scale=(0, 10), format="score").scores
                found["rating right" if scores == row["parsed"]["scores"] else "rating not"] += 1
    assert found == {"pair right": 35, "rating right": 2828}


def test_the_page_lists_every_format_with_what_it_holds() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reading-formats.md").read_text(encoding="utf-8")
    for one in known_formats().values():
        line = next(line for line in page.split("\n") if line.startswith(f"| `{one.name}` |"))
        assert f"| {', '.join(one.reads)} |" in line


@pytest.mark.parametrize("written", ["4 out of 5", "4 OUT OF 5", "4 of 5", "4 Of 5", "4/5"])
def test_a_score_with_its_top_is_one_number_in_capitals_too(written: str) -> None:
    assert extract_scores(f"[RESULT] {written}", ["a"], format="prometheus").scores == {"a": 4}


def test_a_place_of_the_table_is_named_or_written_out() -> None:
    known_formats.cache_clear()
    assert extract_scores("I weighed both.\n<answer>8 5</answer>", ["a", "b"], format="judgelrm").scores == {
        "a": 8,
        "b": 5,
    }
    assert extract_scores("8 5", ["a", "b"], format="judgelrm").scores == {}
    assert extract_choice("So my final decision is Response 2.", ["a", "b"], format="auto_j").choice == "b"
    assert extract_verdict("GRADE: C", format="inspect_ai").met is True


@pytest.mark.parametrize(
    ("models", "choice"),
    [(["M", "m"], "y"), (["m", "M"], "x"), (["m", "m"], None), (["m"], None), (["m", "other"], None)],
)
def test_models_without_ranks_are_in_the_order_in_which_they_are_listed(models: list[str], choice: str | None) -> None:
    text = json.dumps({"ordered_models": [{"model": model} for model in models]})
    assert extract_choice(text, ["x", "y"], format="alpaca_eval").choice == choice
