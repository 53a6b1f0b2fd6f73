"""Which judges a panel has, and which option belongs to which of them."""

import pytest

from calipers.errors import ConfigError
from calipers.judging.connecting import judges_in, value_for_each_judge


def test_one_judge_is_one_member_and_a_list_keeps_its_order():
    assert judges_in("openai/gpt-5-mini") == ("openai/gpt-5-mini",)
    assert judges_in(["b/x", "a/y"]) == ("b/x", "a/y")
    with pytest.raises(ConfigError, match="at least one"):
        judges_in([])


def test_an_option_of_one_judge_must_say_whose_it_is_in_a_panel():
    assert value_for_each_judge("api_key", "k", ["a/x"]) == ["k"]
    assert value_for_each_judge("api_key", None, ["a/x", "b/y"]) == [None, None]
    assert value_for_each_judge("api_key", {"b/y": "k"}, ["a/x", "b/y"]) == [None, "k"]
    with pytest.raises(ConfigError, match="there are 2 judges, so name the one"):
        value_for_each_judge("api_key", "k", ["a/x", "b/y"])
    with pytest.raises(ConfigError, match="'c/z' is none of the judges"):
        value_for_each_judge("api_key", {"c/z": "k"}, ["a/x", "b/y"])
