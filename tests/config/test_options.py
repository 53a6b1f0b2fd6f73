"""Every option is written once, and all that names it follows: signature, flat names, flags, page, records, checks.
What a run learned about windows is recorded with it.
"""

from __future__ import annotations

import inspect
import json
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
from calipers.config.settings import RecordedJudge, Settings, recorded_settings
from calipers.errors import ConfigError, LedgerError
from calipers.testing import SimulatedJudge
from calipers.types import Window

OPTIONS = list(flat_options().values())
JUDGE = SimulatedJudge({"a": 0.5})
PAGE = (Path(__file__).parents[2] / "docs" / "options.md").read_text(encoding="utf-8")
WRONG: dict[str, Any] = {"whole": 1.5, "number": "fast", "choice": "nothing of the kind", "flag": "yes", "function": 3}


def test_a_judge_takes_the_everyday_arguments_and_one_for_each_group_and_each_field_is_either() -> None:
    parameters = inspect.signature(calipers.Judge).parameters
    names = {
        "judge", "protocol", "orders", "samples", "seed", "quorum", "deadline", "base_url", "api_key",
        "rubric", "budget", "concurrency", "parse", "ledger",
    } | {"criteria", "tools", "panel", "resolve", "reward", "question", "calls", "defence", "records"}  # fmt: skip
    assert (next(iter(parameters)), set(parameters)) == ("judge", names)
    every: list[Any] = [JudgeOptions, *groups_of(JudgeOptions).values()]
    for of in every:
        named = {option.name for option in options_of(of)} | groups_of(of).keys()
        assert named == {field.name for field in fields(of)}, of


def test_every_option_has_a_sentence_a_flat_name_a_row_in_the_docs_and_a_flag_where_it_has_a_section() -> None:
    flags = {flag: one for one in app.commands["score"].params if isinstance(one, click.Option) for flag in one.opts}
    wrong = []
    for option in OPTIONS:
        place = f"`{option.group}.{option.name}`" if option.group else f"`{option.name}`"
        flag = flags.get(f"--{option.flag}")
        is_described = option.help.endswith(".") and option.help[0].isupper()
        is_in_docs = any(line.startswith((f"| {place}", f"| [{place}]")) for line in PAGE.splitlines())
        is_a_flag = (flag is not None) == bool(option.section)
        if not (is_described and is_in_docs and is_a_flag):
            wrong.append((option.key, is_described, is_in_docs, is_a_flag))
    assert wrong == []


def test_a_flat_name_sets_the_option_that_an_argument_sets() -> None:
    for option in (one for one in OPTIONS if one.key != "judge"):
        given = {option.name: option.default}
        by_argument = JudgeOptions(JUDGE, **({option.group: given} if option.group else given))
        resolving = {"resolve": True} if option.group == "resolve" else {}
        by_flat_name = judge_arguments({"judge": JUDGE, **resolving, option.key: option.default})
        assert JudgeOptions(**by_flat_name) == by_argument, option.key


def refusal(option: Option, value: Any) -> str:
    """How the value of an option is refused, if it is."""
    try:
        JudgeOptions(**judge_arguments({"judge": JUDGE, "resolve": True, option.key: value}))
    except ConfigError as error:
        return str(error)
    return ""


def wrong_values(option: Option) -> list[Any]:
    """A value of another type, and those right outside the range."""
    step = 1 if option.kind == "whole" else 1e-9
    wrong = [WRONG[option.kind]] if option.kind in WRONG and not option.registered else []
    if option.low is not None:
        wrong.append(option.low if option.above else option.low - step)
    if option.high is not None:
        wrong.append(option.high if option.below else option.high + step)
    return wrong


def ends(option: Option) -> list[Any]:
    """The lowest and the highest value within the range."""
    step = 0 if option.kind == "whole" else 1e-9
    low = [] if option.low is None else [option.low + step]
    high = [] if option.high is None else [option.high - step]
    return [int(value) if option.kind == "whole" else value for value in (*low, *high)]


def test_a_value_of_another_type_or_out_of_range_is_refused_by_the_name_of_its_option_and_one_within_is_taken() -> None:
    refused = [(option, value, refusal(option, value)) for option in OPTIONS for value in wrong_values(option)]
    assert [one for one in refused if f"{one[0].name}={one[1]!r}: it must be {one[0].range}" not in one[2]] == []
    taken = [(option.key, value, refusal(option, value)) for option in OPTIONS for value in ends(option)]
    assert [one for one in taken if one[2]] == []


def test_a_flat_name_as_an_argument_is_refused_with_its_place() -> None:
    for option in OPTIONS:
        if option.group and option.key not in groups_of(JudgeOptions):  # panel=, reward= and resolve= are arguments
            with pytest.raises(ConfigError) as refused:
                calipers.Judge(JUDGE, **{option.key: option.default})
            assert f'{option.group}={{"{option.name}": ...}}' in str(refused.value)


def test_a_name_there_is_not_is_told_the_nearest() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"ordres": 2}, "no argument 'ordres'. Did you mean orders?"),
        ({"temperature": 0}, 'write calls={"params": {"temperature": ...}}. Known: judge, '),
        ({"model": "openai/gpt-5"}, "Did you mean judge?"),
        ({"api_base": "http://gpu1/v1"}, "Did you mean base_url? Then write base_url="),
        ({"calls": {"params": {"api_base": "http://x"}}}, "use base_url= instead"),
        ({"calls": {"params": {"odd": float("nan")}}}, "cannot be written as JSON"),
        ({"max_retries": 2}, 'Did you mean attempts? Then write calls={"attempts": ...}'),
        ({"retries": 2}, "no argument 'retries'. If it is a parameter"),  # and not orders
        ({"calls": {"tiemout": 2}}, "calls: 'tiemout' is unknown. Did you mean timeout?"),
        ({"records": {"ledger": "runs.db"}}, "records: 'ledger' is unknown. Write ledger= instead."),
        ({"question": {"timeout": 2}}, "question: 'timeout' is unknown. Write calls={\"timeout\": ...} instead."),
        ({"calls": 3}, "calls=3: it must be a Calls"),
    ]
    for arguments, words in cases:
        with pytest.raises(ConfigError) as refused:
            calipers.Judge(JUDGE, **arguments)
        assert words in str(refused.value)


def test_a_missing_judge_and_an_unknown_flat_name_are_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"^Judge\(\): missing a required argument: 'judge'$"):
        calipers.Judge()  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match=r"unknown option 'ordres'\. Did you mean orders?"):
        calipers.Judge.of({"judge": JUDGE, "ordres": 2})
    cases: list[tuple[Any, str]] = [("nope.toml", r"nope\.toml: cannot be read \(No such file"), ({}, "no judge")]
    for text, words in (
        ("jugde = 'x'", "'jugde'. Did you mean judge"), ("judge = 'embedded'\norders = 0", "orders=0"),
        ("judge =", "not valid TOML"),
    ):  # fmt: skip
        path = tmp_path / f"{len(cases)}.toml"
        path.write_text(text)
        cases.append((path, rf"{path.name}: .*{words}"))
    for given, words in [*cases, (None, "give a mapping")]:
        with pytest.raises(ConfigError, match=words):
            calipers.Judge.of(given)


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
    (tmp_path / "calipers.toml").write_text(text, encoding="utf-8")
    settings = calipers.Judge.of(str(tmp_path / "calipers.toml")).settings
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


def test_resolve_is_off_on_a_tolerance_or_a_mapping_and_the_most_presentations_alone_do_not_turn_it_on() -> None:
    cases: list[tuple[Any, Resolution | None]] = [
        (None, None), (False, None), (True, Resolution()), (0.1, Resolution(0.1)), ({"most": 3}, Resolution(most=3)),
        (Resolution(0.2), Resolution(0.2)),
    ]  # fmt: skip
    assert [JudgeOptions(JUDGE, resolve=given).resolve for given, _ in cases] == [found for _, found in cases]
    assert judge_arguments({"judge": JUDGE, "most": 4})["resolve"] is None
    assert judge_arguments({"judge": JUDGE, "most": 4, "resolve": 0.1})["resolve"] == Resolution(0.1, 4)
    with pytest.raises(ConfigError, match="most=4 has no effect without resolve="):
        calipers.Judge.of({"judge": "embedded", "most": 4, "resolve": False})
    calipers.Judge.of({"judge": "embedded", "most": 8}).close()  # the default


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
    assert (record["resolve"], record["reward"]) == ({"tolerance": 0.1, "most": 4}, {"kind": "rank"})
    assert (record["learns"], record["canaries"]) == (False, "sampled")
    with pytest.raises(LedgerError, match=r"recorded with reward\.shape, which"):
        Settings.of(record | {"reward": {"shape": "round"}})


def test_calls_and_records_that_decide_nothing_are_not_recorded() -> None:
    plain = Settings((RecordedJudge("a", "here", "m"),))
    changed = Settings((RecordedJudge("a", "here", "m"),), calls=Calls(timeout=1, attempts=9, price=(1, 2)))
    assert changed.to_dict() == plain.to_dict()


def test_tools_that_a_judge_would_not_have_are_pointed_out() -> None:
    cases: list[tuple[Any, str]] = [
        ({"name": "all"}, "'name' is unknown. Did you mean names"),
        ("list_file", "'list_file' is no tool; did you mean list_files"),
        ("diff,search", "name several as a list, or each with a --tool of its own"),
    ]
    for tools, complaint in cases:
        with pytest.raises(ConfigError, match=complaint):
            calipers.Judge(JUDGE, tools=tools)


def test_an_error_of_a_command_names_flags_in_place_of_arguments() -> None:
    cases = {
        "quorum=3 needs 3 judges": "--quorum 3 needs 3 judges",
        "orders=2: only relative grading; use samples=": "--orders 2: only relative grading; use --samples",
        "calls: timeout=0: it must be a number": "--timeout 0: it must be a number",
        "resolve: tolerance=2.0": "--resolve 2.0",
        "expected=True needs log-probabilities": "--expected needs log-probabilities",
        "panel='vote': it must be one of": "--panel vote: it must be one of",
        "budget={'calls': 3}: too few": "--budget {'calls': 3}: too few",
        "grading: reward='clip': it must be": "--grading reward='clip': it must be",
        "http://host/v1?seed=3 and absolute=True": "http://host/v1?seed=3 and absolute=True",
    }
    assert {text: with_flags(text) for text in cases} == cases


TWO = Settings((RecordedJudge("a", "here", "m"), RecordedJudge("b", "there", "n", 8192)))


def test_a_window_holds_from_its_group_on_and_for_its_judge_only() -> None:
    revealed = TWO.with_revealed_windows(5, [Window(4096, 2.5), None])
    assert revealed.windows == ((5, 0, 4096, 2.5),)
    assert revealed.for_group(4).judges == TWO.judges
    assert [(one.context_window, one.bytes_per_token) for one in revealed.for_group(5).judges] == [
        (4096, 2.5),
        (8192, 3.0),
    ]
    assert revealed.for_group(99) == revealed.for_group(5)


def test_only_a_smaller_window_is_news() -> None:
    revealed = TWO.with_revealed_windows(5, [Window(4096, 2.5), Window(8192, 2.0)])
    assert revealed.windows == ((5, 0, 4096, 2.5),)
    assert revealed.with_revealed_windows(7, [Window(4096, 2.0), None]) is revealed
    assert revealed.with_revealed_windows(9, [Window(2048, 2.0), None]).for_group(9).judges[0].context_window == 2048


def test_what_was_learned_on_the_way_survives_the_ledger() -> None:
    revealed = TWO.with_revealed_windows(5, [Window(4096, 2.5), None])
    assert Settings.of(recorded_settings(json.loads(json.dumps(revealed.to_dict())))) == revealed


def test_a_run_begun_again_takes_up_the_windows_of_then_unless_they_are_known_to_be_others() -> None:
    before = TWO.with_revealed_windows(5, [Window(4096, 2.5), None])
    again = TWO.with_windows_of(before)
    assert again is not None
    assert again.windows == ((5, 0, 4096, 2.5),)
    grown = Settings((RecordedJudge("a", "here", "m"), RecordedJudge("b", "there", "n", 16384)))
    assert grown.with_windows_of(before) is None
