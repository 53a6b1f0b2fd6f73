"""Every option is written once, and all that names it follows: signature, flat names, flags, page, records, checks."""

from __future__ import annotations

import inspect
import json
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest

import calipers
from calipers.cli import app
from calipers.config import Calls, JudgeOptions, Panel, Question, Resolution
from calipers.config.flat_names import judge_arguments, with_flags
from calipers.config.option import Option, groups_of, options_of
from calipers.config.options import flat_options
from calipers.config.settings import RecordedJudge, Settings
from calipers.errors import ConfigError, LedgerError
from calipers.testing import SimulatedJudge

OPTIONS = list(flat_options().values())
JUDGE = SimulatedJudge({"a": 0.5})
PAGE = (Path(__file__).parents[2] / "docs" / "options.md").read_text(encoding="utf-8")
WRONG: dict[str, Any] = {"whole": 1.5, "number": "fast", "choice": "nothing of the kind", "flag": "yes", "function": 3}


def as_given(option: Option) -> dict[str, Any]:
    """Arguments of Judge that set the option to its default."""
    return {option.group: {option.name: option.default}} if option.group else {option.name: option.default}


def test_a_judge_takes_the_everyday_arguments_and_one_for_each_group_and_no_other() -> None:
    parameters = inspect.signature(calipers.Judge).parameters
    assert set(parameters) == {
        "judge", "protocol", "orders", "samples", "seed", "quorum", "deadline", "base_url", "api_key",
        "rubric", "budget", "concurrency", "parse", "ledger",
    } | {"criteria", "tools", "panel", "resolve", "reward", "question", "calls", "defence", "records"}  # fmt: skip
    assert list(parameters) == [field.name for field in fields(JudgeOptions) if field.name == "judge"] + [
        field.name for field in fields(JudgeOptions) if field.name != "judge"
    ]


def test_every_field_is_an_option_or_a_group_of_them() -> None:
    every: list[Any] = [JudgeOptions, *groups_of(JudgeOptions).values()]
    for of in every:
        named = {option.name for option in options_of(of)} | groups_of(of).keys()
        assert named == {field.name for field in fields(of)}, of


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.key)
def test_every_option_has_a_sentence_a_flat_name_a_row_in_the_docs_and_a_flag_where_it_has_a_section(
    option: Option,
) -> None:
    assert option.help.endswith(".")
    assert option.help[0].isupper()
    place = f"`{option.group}.{option.name}`" if option.group else f"`{option.name}`"
    assert any(line.startswith((f"| {place}", f"| [{place}]")) for line in PAGE.splitlines())
    flags = {flag: one for one in app.commands["score"].params if isinstance(one, click.Option) for flag in one.opts}
    assert (f"--{option.flag}" in flags) is bool(option.section)
    if option.section:
        assert flags[f"--{option.flag}"].envvar == option.variable


@pytest.mark.parametrize("option", [one for one in OPTIONS if one.key != "judge"], ids=lambda option: option.key)
def test_a_flat_name_sets_the_option_that_an_argument_sets(option: Option) -> None:
    by_argument = JudgeOptions(JUDGE, **as_given(option))
    resolving = {"resolve": True} if option.group == "resolve" else {}
    assert JudgeOptions(**judge_arguments({"judge": JUDGE, **resolving, option.key: option.default})) == by_argument


@pytest.mark.parametrize("option", [one for one in OPTIONS if one.kind in WRONG and not one.registered],
                         ids=lambda option: option.key)  # fmt: skip
def test_a_value_of_another_type_is_refused_by_the_name_of_its_option(option: Option) -> None:
    wrong = WRONG[option.kind]
    with pytest.raises(ConfigError, match=f"{option.name}={wrong!r}: it must be {option.range}"):
        JudgeOptions(**judge_arguments({"judge": JUDGE, "resolve": True, option.key: wrong}))


@pytest.mark.parametrize("option", [one for one in OPTIONS if one.low is not None], ids=lambda option: option.key)
def test_a_value_below_its_range_is_refused_and_the_lowest_within_is_not(option: Option) -> None:
    assert option.low is not None
    below = option.low if option.above else option.low - 1
    with pytest.raises(ConfigError, match=f"{option.name}={below!r}: it must be"):
        JudgeOptions(**judge_arguments({"judge": JUDGE, "resolve": True, option.key: below}))
    lowest = int(option.low) if option.kind == "whole" else option.low + 1e-9
    JudgeOptions(**judge_arguments({"judge": JUDGE, "resolve": True, option.key: lowest}))


@pytest.mark.parametrize("option", [one for one in OPTIONS if one.high is not None], ids=lambda option: option.key)
def test_a_value_above_its_range_is_refused_and_the_highest_within_is_not(option: Option) -> None:
    assert option.high is not None
    step = 1 if option.kind == "whole" else 1e-9
    above = option.high if option.below else option.high + step
    highest = option.high - 1e-9 if option.kind == "number" else option.high
    with pytest.raises(ConfigError, match=f"{option.name}={above!r}: it must be"):
        JudgeOptions(**judge_arguments({"judge": JUDGE, "resolve": True, option.key: above}))
    JudgeOptions(**judge_arguments({"judge": JUDGE, "resolve": True, option.key: highest}))


@pytest.mark.parametrize("option", [one for one in OPTIONS if one.group], ids=lambda option: option.key)
def test_a_flat_name_as_an_argument_is_refused_with_its_place(option: Option) -> None:
    if option.key in groups_of(JudgeOptions):
        return  # panel=, reward= and resolve= are arguments as they were
    with pytest.raises(ConfigError) as told:
        calipers.Judge(JUDGE, **{option.key: option.default})
    assert f'{option.group}={{"{option.name}": ...}}' in str(told.value)


@pytest.mark.parametrize(("arguments", "words"), [
    ({"ordres": 2}, "no argument 'ordres'. Did you mean orders?"),
    ({"temperature": 0}, """write calls={"params": {"temperature": ...}}. Known: judge, """),
    ({"calls": {"tiemout": 2}}, "calls: 'tiemout' is unknown. Did you mean timeout?"),
    ({"records": {"ledger": "runs.db"}}, "records: 'ledger' is unknown. Write ledger= instead."),
    ({"question": {"timeout": 2}}, "question: 'timeout' is unknown. Write calls={\"timeout\": ...} instead."),
    ({"panel": {"weight": 2}}, "panel: 'weight' is unknown. Did you mean weights?"),
    ({"calls": 3}, "calls=3: it must be a Calls"),
])  # fmt: skip
def test_a_name_there_is_not_is_told_the_nearest(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as told:
        calipers.Judge(JUDGE, **arguments)
    assert words in str(told.value)


def test_a_missing_judge_is_said_of_judge_itself() -> None:
    with pytest.raises(TypeError, match=r"^Judge\(\): missing a required argument: 'judge'$"):
        calipers.Judge()  # type: ignore[call-arg]


def test_an_unknown_flat_name_is_told_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"unknown option 'ordres'\. Did you mean orders?"):
        calipers.Judge.of({"judge": JUDGE, "ordres": 2})


def test_a_settings_file_is_taken_as_it_stands_with_names_and_texts_of_flags(tmp_path: Path) -> None:
    """What calibrate recommends, and any other calipers.toml, works as an argument of Judge.of, too."""
    (tmp_path / "strict.txt").write_text("Be strict.", encoding="utf-8")
    a, b = "vllm/a@http://gpu1:8000/v1", "vllm/b@http://gpu1:8000/v1"
    text = f"""
        judge = ["{a}", "{b}"]
        panel = "cycle"
        param = ["temperature=0.5"]
        budget = ["calls=100"]
        rubric = "{tmp_path / "strict.txt"}"
        no_experience = true
    """
    judge = calipers.Judge.of(tomllib.loads(text))
    settings = judge.settings
    assert (settings.calls.params, settings.rubric) == ({"temperature": 0.5}, "Be strict.")
    weighted = calipers.Judge.of({"judge": [a, b], "panel": "all", "weights": "0.75,0.25"})
    assert weighted.settings.panel.weights == (0.75, 0.25)
    assert calipers.Judge.of({"judge": "embedded", "rubric": "Prefer answers in a .txt"}).settings.rubric
    with pytest.raises(ConfigError, match=r"--weights 1;2: write one number for each judge, as in 2,1,1"):
        calipers.Judge.of({"judge": [a, b], "weights": "1;2"})
    with pytest.raises(ConfigError, match=r"--rubric none.txt: cannot be read"):
        calipers.Judge.of({"judge": a, "rubric": "none.txt"})


def test_a_flat_name_goes_before_its_group_and_leaves_the_rest_of_it() -> None:
    made = judge_arguments(
        {"judge": JUDGE, "calls": {"timeout": 5, "attempts": 2}, "timeout": 9, "panel": "cycle", "weights": [1]}
    )
    assert made["calls"] == Calls(timeout=9, attempts=2)
    assert made["panel"] == Panel("cycle", [1])


@pytest.mark.parametrize(("resolve", "found"), [
    (None, None), (False, None), (True, Resolution()), (0.1, Resolution(0.1)), ({"most": 3}, Resolution(most=3)),
    (Resolution(0.2), Resolution(0.2)),
])  # fmt: skip
def test_resolve_is_off_on_a_tolerance_or_a_mapping(resolve: Any, found: Resolution | None) -> None:
    assert JudgeOptions(JUDGE, resolve=resolve).resolve == found


def test_the_most_presentations_alone_do_not_turn_resolving_on() -> None:
    assert judge_arguments({"judge": JUDGE, "most": 4})["resolve"] is None
    assert judge_arguments({"judge": JUDGE, "most": 4, "resolve": 0.1})["resolve"] == Resolution(0.1, 4)


def test_groups_show_what_differs_from_their_defaults() -> None:
    assert repr(Question(at_once=8)) == "Question(at_once=8)"
    assert repr(Calls()) == "Calls()"


def test_what_decides_results_is_recorded_and_read_again() -> None:
    judge = calipers.Judge.of({
        "judge": [SimulatedJudge({"a": 1}, model=name) for name in ("m", "n")], "panel": "all", "weights": [2, 1],
        "quorum": 2, "orders": 3,
        "samples": 2, "seed": 7, "reasks": 0, "max_tokens": 99, "params": {"temperature": 0},
        "reasoning": "shown", "reward_range": (-1.0, 1.0), "absolute": True, "deadline": 5.0, "resolve": 0.1, "most": 4,
        "reward": "rank", "at_once": 6, "on_attack": "floor", "canaries": "sampled",
        "experience": False,
    })  # fmt: skip
    settings = judge.settings
    record = json.loads(json.dumps(settings.to_dict()))
    assert Settings.of(record).to_dict() == settings.to_dict()
    assert (record["resolve"], record["learns"], record["canaries"]) == (
        {"tolerance": 0.1, "most": 4}, False, "sampled",
    )  # fmt: skip
    assert record["reward"] == {"kind": "rank"}


def test_a_record_with_an_unknown_option_is_refused() -> None:
    record = json.loads(json.dumps(Settings((RecordedJudge("a", "here", "m"),)).to_dict()))
    with pytest.raises(LedgerError, match=r"recorded with reward\.shape, which"):
        Settings.of(record | {"reward": {"shape": "round"}})


def test_calls_and_records_that_decide_nothing_are_not_recorded() -> None:
    plain = Settings((RecordedJudge("a", "here", "m"),))
    changed = Settings((RecordedJudge("a", "here", "m"),), calls=Calls(timeout=1, attempts=9, price=(1, 2)))
    assert changed.to_dict() == plain.to_dict()


def test_the_most_presentations_are_refused_without_resolve_but_for_the_default():
    with pytest.raises(ConfigError, match="most=4 has no effect without resolve="):
        calipers.Judge.of({"judge": "embedded", "most": 4, "resolve": False})
    calipers.Judge.of({"judge": "embedded", "most": 4, "resolve": True}).close()
    calipers.Judge.of({"judge": "embedded", "most": 8}).close()


@pytest.mark.parametrize(("tools", "complaint"), [
    ({"name": "all"}, "'name' is unknown. Did you mean names"),
    ("list_file", "'list_file' is no tool; did you mean list_files"),
    ("Diff", "did you mean diff"),
    ("diff,search", "name several as a list, or each with a --tool of its own"),
])  # fmt: skip
def test_tools_that_a_judge_would_not_have_are_pointed_out(tools: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        calipers.Judge(JUDGE, tools=tools)


def test_an_error_of_a_command_names_flags_in_place_of_arguments() -> None:
    cases = {
        "quorum=3 counts judges, and there is only one": "--quorum 3 counts judges, and there is only one",
        "orders=2: only relative grading; use samples=": "--orders 2: only relative grading; use --samples",
        "calls: timeout=0: it must be a number": "--timeout 0: it must be a number",
        "resolve: tolerance=2.0": "--resolve 2.0",
        "expected=True needs log-probabilities": "--expected needs log-probabilities",
        "panel='vote': it must be one of": "--panel vote: it must be one of",
        "budget={'calls': 3}: too few": "--budget {'calls': 3}: too few",
        "http://host/v1?seed=3 and absolute=True": "http://host/v1?seed=3 and absolute=True",
    }
    assert {text: with_flags(text) for text in cases} == cases
