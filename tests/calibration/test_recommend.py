"""The recommendation is TOML, follows from the figures, and asks with the request settings that were measured."""

import random
import tomllib
from typing import Any

import calipers
from calipers.calibration import Calibration, calibrate
from calipers.calibration.measures import bootstrap_interval
from calipers.calibration.recommend import request_lines
from calipers.calibration.records import Key
from calipers.config.settings import Settings
from judged import compared, gold_of, groups, rated

GROUPS = groups(80)


def recommended(*records: dict[str, Any]) -> dict[str, Any]:
    return tomllib.loads(calibrate(GROUPS, records).recommendation)


def test_the_judge_or_panel_that_agrees_best_is_recommended():
    found = recommended(*rated(GROUPS, "poor", 2.0), *rated(GROUPS, "fine", 0.2))
    assert (found["judge"], found["protocol"], found["samples"]) == (["fine"], "pointwise", 1)
    found = recommended(*rated(GROUPS, "a", 1.0), *rated(GROUPS, "b", 1.0), *rated(GROUPS, "c", 1.0))
    assert found["judge"] == ["a", "b", "c"]
    assert (found["panel"], len(found["weights"].split(","))) == ("all", 3)


def test_a_biased_pairwise_judge_is_asked_in_both_orders():
    assert recommended(*compared(GROUPS[:20], "j", bias=1.0, noise=0.3))["orders"] == 2


def test_a_judge_that_may_know_nothing_is_not_recommended():
    """A comment in a file that can be loaded would be trained on."""
    opposed = [one | {"parsed": {"scores": {n: -x for n, x in one["parsed"]["scores"].items()}}} for one in
               rated(GROUPS, "j", 0.5)]  # fmt: skip
    random = list(rated(GROUPS[:12], "j", 50.0))
    silent = [one | {"parsed": None} for one in rated(GROUPS[1:], "j", 0.5)]
    silent += rated(GROUPS[:1], "j", 0.5)
    for said, why in ((random, "could show a fidelity"), (opposed, "get lower scores"), (silent, "get no score")):
        text = calibrate(GROUPS, said).recommendation
        assert tomllib.loads(text) == {}
        assert why in text
    assert "could show" not in text  # what gets no score has no spread to tell from


def test_the_best_of_many_judges_at_random_is_not_recommended():
    said = [line for number in range(6) for line in rated(GROUPS[:8], f"k{number}", 50.0)]
    choice = calibrate(GROUPS[:8], said).choice
    assert choice is not None
    low, _ = bootstrap_interval(choice.way.fidelity) or (0.0, 0.0)
    assert low > 0  # it looks good where so many were tried
    assert not choice.is_usable


def test_a_panel_that_rests_on_one_member_says_so():
    for noise, rests in ((0.5, True), (1.0, False)):
        found = calibrate(GROUPS, [*rated(GROUPS, "a", noise), *rated(GROUPS, "b", 1.2)], per_group={"calls": 8})
        assert sure_weights(found) > 0.75 if rests else sure_weights(found) < 0.75
        assert ("one_member" in {one.kind for one in found.findings}) == rests
        assert ("rests on one member" in found.recommendation) == rests


def sure_weights(found: Calibration) -> float:
    assert found.choice is not None
    return max(found.choice.way.weights or (0.0,))


def test_a_limit_decides_between_protocols_by_what_a_group_costs():
    """Pairs see more, and cost seven times as much as a list: they are taken where there is room for them."""
    lists = list(rated(GROUPS, "j", 2.0, calls=4, mode="listwise", usage={"input_tokens": 400, "output_tokens": 40}))
    took = {"usage": {"input_tokens": 200, "output_tokens": 20}}
    pairs = [line | took for line in compared(GROUPS, "j", bias=0.0, noise=0.2)]
    for most, protocol in ((500, "listwise"), (6000, "pairwise")):
        found = calibrate(GROUPS, [*lists, *pairs], per_group={"tokens": most}).recommendation
        assert tomllib.loads(found)["protocol"] == protocol
        assert f"at most {most} tokens" in found
    none = calibrate(GROUPS, lists, per_group={"usd": 1.0}).recommendation
    assert tomllib.loads(none) == {}
    assert "no measured way is known to cost at most 1 dollars" in none


def test_a_panels_related_errors_are_set_for_its_standard_errors():
    generator = random.Random("common")
    common = {(one["group_id"], name): generator.gauss(0, 0.7) for one in GROUPS for name in gold_of(one)}
    apart = [line for judge in "abc" for line in rated(GROUPS, judge, 0.9)]
    related = []
    for line in apart:
        scores = {name: value + common[line["group_id"], name] for name, value in line["parsed"]["scores"].items()}
        related.append(line | {"parsed": {"scores": scores}})
    found = recommended(*related)
    assert found["judge"] == ["a", "b", "c"]
    assert 0.2 < found["error_correlation"] < 0.55
    assert "errors go together" in calibrate(GROUPS, related).recommendation
    told = []
    for seed in range(20):  # errors that are unrelated seem related once in 40 times
        unrelated = [line for judge in "ab" for line in rated(GROUPS, judge, 0.9, seed=seed)]
        told.append("errors go together" in calibrate(GROUPS, unrelated).recommendation)
    assert sum(told) <= 3


def test_comments_name_judges_without_their_servers_and_values_with_them():
    judges = [f"vllm/{name}@http://gpu1:8000/v1" for name in "ab"]
    said = [line | {"judge": judge} for judge in judges for line in rated(GROUPS, judge, 1.0)]
    text = calibrate(GROUPS, said).recommendation
    assert tomllib.loads(text)["judge"] == judges
    assert "# Weights, learned from gold: vllm/a 0." in text
    assert not [line for line in text.splitlines() if line.startswith("#") and "http" in line]


def key(judge: str = "a", *, at: float | None = None) -> Key:
    return Key(judge, "listwise", None, at)


def asked(**options: Any) -> Settings:
    judge = calipers.Judge.of({"judge": "vllm/m@http://127.0.0.1:9/v1", "ledger": None, **options})
    judge.close()
    return judge.settings


def lines(*keys: Key, **settings: Settings) -> tuple[dict[str, Any], str]:
    """The settings that recommend these keys, as TOML reads them, and the whole text."""
    text = "\n".join(request_lines(keys, {one: settings[one.judge] for one in keys if one.judge in settings}, {}))
    return tomllib.loads(text), text


def test_every_setting_that_was_measured_is_written():
    params = {"temperature": 0.3, "stop": ["\n", '"'], "top_p": "0.5"}
    found, text = lines(key(at=0.3), a=asked(params=params, expected=True, price=(0.25, 2, 1e-7)))
    assert found["param"] == ["temperature=0.3", 'stop=["\\n", "\\""]', 'top_p="0.5"']
    assert "do not say" not in text
    again = asked(**found)
    assert (again.calls.params, again.question.expected, again.calls.price) == (params, True, (0.25, 2, 1e-7))


def test_of_recorded_answers_the_temperature_is_written_and_the_rest_is_said_to_be_unknown():
    found, text = lines(key(at=0.0))
    assert found == {"param": ["temperature=0"]}
    assert "# a: recorded answers do not say with which param and expected" in text
    found, text = lines(key(at=1.0), key("b", at=1.0), a=asked(params={"temperature": 1}))
    assert found == {"param": ["temperature=1"]}
    assert "# b: recorded answers" in text


def test_a_panel_gets_what_its_judges_share_and_a_comment_on_the_rest():
    first, other = asked(params={"top_p": 0.5, "top_k": 3}, price=(1, 2)), asked(params={"top_p": 0.5, "top_k": 4})
    found, text = lines(key(at=0.0), key("b"), a=first, b=other)
    assert found == {"param": ["top_p=0.5"]}
    assert 'different values of "temperature", "top_k"' in text


def test_names_and_values_stay_inside_their_line():
    judge = 'j"\nharm = true #'
    assert recommended(*rated(GROUPS, judge, 0.2, prompt_variant="v\nharm = true"))["judge"] == [judge]
    assert lines(key(judge, at=1.0), key("b", at=0.0))[0] == {}
    assert list(lines(key(), a=asked(params={'x"]\nharm = true #': 'y"]\n'}))[0]) == ["param"]
