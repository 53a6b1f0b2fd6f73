"""A recommendation asks with the request settings that were measured, or says that they are not known."""

import tomllib
from typing import Any

import calipers
from calipers.calibration.asked import Asked, request_lines
from calipers.calibration.collect import collect_judgments
from calipers.calibration.records import Key
from calipers.inputs import as_group
from judged import groups

GROUPS = groups(60)
NAMES = {"a": "a", "b": "b"}


def key(judge: str = "a", *, at: float | None = None, variant: str | None = None) -> Key:
    return Key(judge, "listwise", variant, at, None)


def settings(*keys: Key, **asked: Asked) -> tuple[dict[str, Any], str]:
    """The settings that recommend these keys, as TOML reads them, and the whole text."""
    text = "\n".join(request_lines(keys, {one: asked[one.judge] for one in keys if one.judge in asked}, NAMES))
    return tomllib.loads(text), text


def test_every_setting_that_was_measured_is_written():
    asked = Asked({"temperature": 0.3, "stop": ["\n", '"'], "top_p": "0.5"}, True, (0.25, 2, 1e-7))
    found, text = settings(key(at=0.3), a=asked)
    assert found == {
        "param": ["temperature=0.3", 'stop=["\\n", "\\""]', 'top_p="0.5"'],
        "expected": True,
        "price": "0.25,2,1e-07",
    }
    assert "do not say" not in text
    judge = calipers.Judge.of({"judge": "vllm/m@http://127.0.0.1:9/v1", "ledger": None, **found})
    assert Asked.of(judge.settings) == asked
    judge.close()


def test_what_was_asked_without_settings_needs_none():
    assert settings(key(), a=Asked()) == ({}, "")


def test_of_recorded_answers_the_temperature_is_written_and_the_rest_is_said_to_be_unknown():
    found, text = settings(key(at=0.0))
    assert found == {"param": ["temperature=0"]}
    assert "# a: recorded answers do not say with which request settings the judge was asked.\n" in text
    assert "# Set param and expected as they were then." in text


def test_the_ways_own_temperature_wins():
    asked = Asked({"temperature": 1, "top_p": 0.5})
    assert settings(key(at=0.5), a=asked)[0] == {"param": ["temperature=0.5", "top_p=0.5"]}
    assert settings(key(at=1.0), a=asked)[0] == {"param": ["temperature=1", "top_p=0.5"]}


def test_a_panel_gets_what_its_judges_share_and_comments_on_the_rest():
    first, other = Asked({"top_p": 0.5, "top_k": 3}, price=(1, 2)), Asked({"top_p": 0.5, "top_k": 4})
    found, text = settings(key(at=0.0), key("b"), a=first, b=other)
    assert found == {"param": ["top_p=0.5"]}
    assert '# The judges were asked with different values of "top_k".' in text
    assert "# a: measured at temperature 0: a run has one temperature for all judges." in text
    assert "# b: measured without a temperature: " in text
    found, text = settings(key(at=1.0), key("b", at=1.0), a=Asked({"temperature": 1}))
    assert found == {"param": ["temperature=1"]}
    assert "# b: recorded answers" in text


def test_names_and_values_stay_inside_their_line():
    judge = "j\nharm = true #"
    keys = [key(judge, at=1.0), key("b", at=0.0)]
    assert tomllib.loads("\n".join(request_lines(keys, {}, {}))) == {}
    found = tomllib.loads("\n".join(request_lines([key()], {key(): Asked({'x"]\nharm = true #': 'y"]\n'})}, {})))
    assert list(found) == ["param"]


async def test_what_collect_judgments_asked_is_recommended_in_python():
    texts = [
        one | {"trajectories": [{**member, "messages": [{"role": "assistant", "content": member["id"]}]}
                                for member in one["trajectories"]]}
        for one in GROUPS[:4]
    ]  # fmt: skip
    every = [as_group(one) for one in texts]
    params = {"temperature": 0.3, "top_p": 0.5}
    answers = await collect_judgments(every, "embedded", params=params)
    assert answers.asked_by_key == {Key("embedded", "listwise", None, 0.3, None): Asked(params)}
