"""Accuracies count what was followed, and a missing verdict as not followed."""

import json

import pytest

from calipers.verifiers.ifeval.report import InstructionCheck, check_response, report
from calipers.verifiers.ifeval.rows import Response, read_prompt

ROW = {
    "key": 5, "prompt": "p", "instruction_id_list": ["punctuation:no_comma", "keywords:letter_frequency"],
    "kwargs": [{}, {"letter": "#", "let_frequency": 2, "let_relation": "at least"}],
}  # fmt: skip
TWICE = {
    "key": 6, "prompt": "q", "instruction_id_list": ["keywords:existence", "keywords:existence"],
    "kwargs": [{"keywords": ["cat"]}, {"keywords": ["dog"]}],
}  # fmt: skip


def checked(row: dict[str, object], *texts: str) -> list[tuple[InstructionCheck, ...]]:
    asked = read_prompt(row, 1, mode="official")
    return [check_response(asked, Response(line, text)) for line, text in enumerate(texts, start=1)]


def test_shares_are_of_prompts_and_of_instructions() -> None:
    found = report(checked(TWICE, "cat and dog", "cat", "x\ncat, dog", "x"))
    assert (found.prompts, found.instructions) == (4, 8)
    assert found.accuracies.prompt_strict == 2 / 4
    assert found.accuracies.inst_strict == 5 / 8
    assert found.literal == found.accuracies


def test_an_instruction_given_twice_is_counted_in_both_places() -> None:
    first, second = checked(TWICE, "cat")[0]
    assert (first.index, first.strict.met, second.index, second.strict.met) == (0, True, 1, False)
    assert report(checked(TWICE, "cat")).by_type["keywords:existence"].count == 2


def test_a_check_without_verdict_counts_as_not_followed_and_is_counted_literally_beside() -> None:
    found = report(checked(ROW, "##", "#"))
    assert found.accuracies.prompt_strict == 0
    assert found.accuracies.inst_strict == 2 / 4
    assert found.literal.prompt_strict == 1 / 2
    assert found.literal.inst_strict == found.literal.inst_loose == 3 / 4
    assert [check.line for check in found.no_verdict] == [1, 2]


def test_a_blank_response_has_verdicts_even_where_others_have_none() -> None:
    assert not report(checked(ROW, " ")).no_verdict


def test_loose_is_never_below_strict() -> None:
    found = report(checked(TWICE, "x\ncat dog", "cat dog", ""))
    assert found.accuracies.inst_loose >= found.accuracies.inst_strict
    assert all(kind.loose >= kind.strict for kind in found.by_type.values())


def test_the_object_has_the_accuracies_at_the_top_and_is_plain_json() -> None:
    shown = json.loads(json.dumps(report(checked(ROW, "##")).to_dict()))
    assert (shown["prompt_strict"], shown["inst_strict"], shown["prompt_loose"], shown["inst_loose"]) == (
        0,
        0.5,
        0,
        0.5,
    )
    assert shown["literal"]["prompt_strict"] == 1
    assert shown["by_type"]["punctuation:no_comma"] == {"count": 1, "strict": 1, "loose": 1}
    assert shown["no_verdict"][0]["instruction_id"] == "keywords:letter_frequency"
    assert shown["no_verdict"][0]["literal_strict"] is True


def test_a_report_on_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no response"):
        report([])
