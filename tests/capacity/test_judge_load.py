"""What a step asks of a judge: formulas by hand, and cuts that each do less."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from calipers.capacity.judge_load import JudgeLoad
from calipers.errors import ConfigError

LOAD = JudgeLoad(
    step_seconds=100, groups=64, group_size=8, orders=2, samples=2, share=0.5, prompt_tokens=1000, answer_tokens=500,
    score_tokens=10, explanation_tokens=40, prefill=10_000, decode=1000, cached=0.2,
)  # fmt: skip


def test_the_formulas_by_hand():
    assert LOAD.rollouts == 512
    assert LOAD.questions == 64 * 2 * 2 * 0.5
    assert (LOAD.input_tokens, LOAD.output_tokens) == (5000, 400)
    assert LOAD.question_seconds == pytest.approx(5000 * 0.8 / 10_000 + 0.4)
    assert LOAD.work == pytest.approx(128 * 0.8)
    assert LOAD.gpus == 2  # 102.4 / (100 · 0.8) = 1.28
    assert LOAD.queue_seconds(4) == pytest.approx(25.6)
    assert [LOAD.fits(gpus) for gpus in (1, 2)] == [False, True]


def test_a_window_leaves_less_time_and_takes_more_gpus():
    load = JudgeLoad(step_seconds=100, window=10)
    assert load.gpus == math.ceil(load.work / 8)
    assert JudgeLoad(step_seconds=100).gpus < load.gpus


def test_every_cut_does_less_and_each_includes_those_before_it():
    loads = [LOAD, *(after for _, after in LOAD.cuts())]
    assert all(after.work < before.work for before, after in pairwise(loads))
    last = loads[-1]
    assert (last.samples, last.orders, last.explanation_tokens) == (1, 1, 0.0)
    assert last.answer_tokens == 250.0
    assert last.share == pytest.approx(0.2)


def test_what_is_cut_already_is_not_offered():
    offered = [what for what, _ in JudgeLoad(explanation_tokens=0).cuts()]
    assert not any(word in what for what in offered for word in ("samples", "orders to", "explanations"))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"groups": 0}, "groups=0"),
        ({"group_size": 1}, "compares rollouts"),
        ({"decode": 0.0}, "decode=0.0"),
        ({"prefill": math.nan}, "prefill=nan"),
        ({"share": 1.5}, "share is at most 1"),
        ({"cached": 1.0}, "cached below 1"),
        ({"window": 500.0}, "the step takes only 120 s"),
        ({"explanation_tokens": -1.0}, "not below 0"),
    ],
)
def test_a_load_that_cannot_be_is_refused(wrong: dict[str, float], words: str):
    with pytest.raises(ConfigError, match=words):
        JudgeLoad(**wrong)  # type: ignore[arg-type]  # values of all fields
