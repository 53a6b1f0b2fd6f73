"""An instruction is built once, and checked strictly, loosely, or against a trajectory."""

import pytest

from calipers.errors import ConfigError, InputError
from calipers.interfaces import Verifier
from calipers.types import Trajectory
from calipers.verifiers.ifeval import INSTRUCTION_IDS, Instruction, check, instruction

NO_COMMA = "punctuation:no_comma"
BULLETS = "detectable_format:number_bullet_lists"


def test_there_are_25_of_ifeval_29_of_ifevalg_and_58_of_ifbench() -> None:
    assert len(INSTRUCTION_IDS) == len(set(INSTRUCTION_IDS)) == 112


@pytest.mark.parametrize("response", ["", " ", "\n\t\n"])
def test_a_blank_response_follows_nothing_not_even_what_it_could_not_break(response: str) -> None:
    assert check(NO_COMMA, {}, response).met is False
    assert instruction(NO_COMMA).loose(response).met is False


@pytest.mark.parametrize(("response", "strict", "loose"), [
    ("Sure, here it is:\n* a\n* b", False, False),
    ("* a\n* b", True, True),
    ("- Sure\n* a\n* b", False, True),
    ("* a\n* b\n- done", False, True),
    ("- Sure\n* a\n* b\n- done", False, True),
    ("* a\n* b\n* c", False, True),
])  # fmt: skip
def test_loose_lets_the_first_and_the_last_line_go(response: str, *, strict: bool, loose: bool) -> None:
    asked = instruction(BULLETS, {"num_bullets": 2} if loose else {"num_bullets": 5})
    assert (asked.strict(response).met, asked.loose(response).met) == (strict, loose)


def test_loose_lets_all_stars_go_and_says_what_it_left_out() -> None:
    asked = instruction("startend:end_checker", {"end_phrase": "the end"})
    verdict = asked.loose("It is **the end**")
    assert verdict.met is True
    assert "all * are left out" in verdict.reason
    both = asked.loose("It is **the end**\nCheers")
    assert both.reason == "when the last line and all * are left out"


def test_loose_without_success_gives_the_strict_reason() -> None:
    asked = instruction(NO_COMMA)
    assert asked.loose("a, b\nc, d\ne, f") == asked.strict("a, b\nc, d\ne, f")


def test_no_verdict_stays_no_verdict_loosely() -> None:
    kwargs = {"letter": "#", "let_frequency": 4, "let_relation": "at least"}
    assert instruction("keywords:letter_frequency", kwargs).loose("#\n#").met is None


def test_a_trajectory_is_checked_by_its_last_answer() -> None:
    asked = instruction(NO_COMMA)
    verifier: Verifier = asked
    said = [{"role": "assistant", "content": "one, two"}, {"role": "user", "content": "no commas, please"}]
    parts = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]
    assert verifier(Trajectory("a", (*said, {"role": "assistant", "content": parts}))).met is True
    assert verifier(Trajectory("a", tuple(said))).met is False


@pytest.mark.parametrize("messages", [
    (), ({"role": "user", "content": "hello"},), ({"role": "assistant", "content": None},),
])  # fmt: skip
def test_a_trajectory_without_an_answer_has_no_verdict(messages: tuple[dict[str, object], ...]) -> None:
    verdict = instruction(NO_COMMA)(Trajectory("a", messages))
    assert verdict.met is None
    assert "no answer" in verdict.reason


def test_the_prompt_serves_where_the_kwargs_do_not_say_what_to_repeat() -> None:
    name = "combination:repeat_prompt"
    assert check(name, {}, "Say it. Done.", prompt="say it.").met is True
    assert check(name, {"prompt_to_repeat": "Say that."}, "Say it. Done.", prompt="say it.").met is False
    with pytest.raises(InputError, match="prompt_to_repeat: is missing"):
        check(name, None, "Say it. Done.")


@pytest.mark.parametrize(("name", "complaint"), [
    ("punctuation:no_commas", "unknown instruction 'punctuation:no_commas'; did you mean punctuation:no_comma"),
    ("zzz", "unknown instruction 'zzz'$"),
    (7, "unknown instruction 7"),
    (["a"], "unknown instruction"),
])  # fmt: skip
def test_an_unknown_instruction_is_an_error(name: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        check(name, {}, "text")


def test_an_unknown_mode_is_an_error() -> None:
    with pytest.raises(ConfigError, match="official, official_2025 or fixed"):
        check(NO_COMMA, {}, "text", mode="strict")  # type: ignore[arg-type]  # the wrong value is what is tested


def test_errors_name_the_instruction_and_the_field() -> None:
    with pytest.raises(
        InputError, match=r"^detectable_format:number_bullet_lists: num_bullets: must be a whole number"
    ):
        instruction(BULLETS, {"num_bullets": "2"})


def test_an_instruction_can_be_used_again_and_again() -> None:
    """Random in the official checker, where building anew could make loose stricter than strict."""
    asked: Instruction = instruction(BULLETS, {"num_bullets": 1})
    assert [asked.strict("* a").met for _ in range(3)] == [True, True, True]
