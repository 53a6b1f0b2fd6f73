"""RuscaRL's batch grading and VerIF as reward functions of verl's kind, without verl: columns in, figures out.

A judge behind HTTP finds "names WORD" met where the answer has the word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from calipers.errors import CalipersError, InputError
from calipers.trainers.verl import compute_score
from calipers.trainers.verl.rows import common_group_fields
from calipers.trainers.verl.settings import make_judge, read_settings
from servers.checker import checker
from servers.faulty_server import FaultyServer

ASKED = [{"role": "user", "content": "Which planets are there?"}]
RUBRICS = [
    {"criterion": "names Mars", "points": 6, "tags": {"axis": "accuracy"}},
    {"criterion": "names Venus", "points": 2, "tags": ["axis:accuracy"]},
    {"criterion": "names Pluto", "points": -4, "tags": {"verifier": "llm", "function": "llm"}},
]
ROW = {"prompt": ASKED, "reward_model": {"style": "rubric", "ground_truth": "", "rubrics": RUBRICS}}
NO_COMMA = "def check_following(instruction, response):\n    return ',' not in response"
CRASHES = "def check_following(instruction, response):\n    return response.no_such_thing"
TRUTH = {"checkers": ["[rule] Commas: none", "[llm] Content: names Mars"], "functions": [NO_COMMA, ""]}


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with FaultyServer() as running:
        running.script(checker)
        yield running


def graded(
    server: FaultyServer, answer: str, row: Mapping[str, Any] | None = ROW, *, truth: Any = "", **more: Any
) -> float:
    told: dict[str, Any] = {"judge": "vllm/judge", "base_url": server.url, "attempts": 1, "reasks": 0, **more}
    return compute_score("planets", answer, truth, row, recipe="rubric_batch", **told)


def checked(
    server: FaultyServer, answer: str, truth: Any = TRUTH, row: Mapping[str, Any] | None = None, **more: Any
) -> float:
    told: dict[str, Any] = {"judge": "vllm/judge", "base_url": server.url, "attempts": 1, "reasks": 0, **more}
    return compute_score("planets", answer, truth, {"prompt": ASKED} if row is None else row, recipe="verif", **told)


# --- rubric_batch ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "score"),
    [("Mars and Venus", 1.0), ("Mars", 0.75), ("Venus", 0.25), ("Mars, Pluto", 0.25), ("Pluto", 0.0), ("none", 0.0)],
)
def test_the_score_is_points_met_over_positive_points_and_never_below_zero(
    server: FaultyServer, answer: str, score: float
) -> None:
    assert graded(server, answer) == score
    assert len(server.posts) == 1


def test_rows_as_parquet_gives_them_are_read(server: FaultyServer) -> None:
    row = {"prompt": np.array(ASKED), "reward_model": {"rubrics": np.array(RUBRICS, dtype=object)}, "num_turns": 2}
    assert graded(server, "Mars", row) == 0.75
    assert "Which planets are there?" in server.posts[-1]["messages"][-1]["content"]


@pytest.mark.parametrize("row", [{}, {"prompt": ASKED}, {"prompt": ASKED, "reward_model": {"ground_truth": ""}}])
def test_a_row_without_criteria_is_no_zero(server: FaultyServer, row: Mapping[str, Any]) -> None:
    with pytest.raises(InputError, match=r"no criteria: they are expected in reward_model.rubrics or extra"):
        graded(server, "Mars", row)
    with pytest.raises(InputError, match="no criteria"):
        graded(server, "Mars", None)
    assert server.posts == []


def test_thoughts_are_not_graded(server: FaultyServer) -> None:
    assert graded(server, "<think>Mars and Venus</think>Venus") == 0.25
    assert "Mars" not in server.posts[-1]["messages"][-1]["content"]
    assert graded(server, "<think>Mars") == 0.0  # cut off in its thoughts, it has no answer
    assert "Mars" not in server.posts[-1]["messages"][-1]["content"]


def test_a_grading_of_ones_own_goes_over_the_recipes_field_by_field(server: FaultyServer) -> None:
    assert graded(server, "Pluto", grading={"normaliser": "healthbench"}) == -0.5
    settings = read_settings({"judge": "embedded", "recipe": "rubric_batch", "grading": {"mode": "per_criterion"}})
    grading = make_judge(settings).settings.grading
    assert grading is not None
    assert (grading.mode, grading.normaliser, grading.reward) == ("per_criterion", "ruscarl_batch", "score")


# --- verif ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "score"), [("Mars and Venus", 1.0), ("Mars, Venus", 0.0), ("Venus", 0.0), ("Venus, Pluto", 0.0)]
)
def test_verif_is_the_share_of_rules_times_the_judges_bit(server: FaultyServer, answer: str, score: float) -> None:
    assert checked(server, answer) == score


def test_skipped_rules_are_put_to_the_judge_and_ignored_ones_to_nobody(server: FaultyServer) -> None:
    truth = {"checkers": ["[rule] Venus: names Venus", "[llm] Mars: names Mars"], "functions": [CRASHES, ""]}
    assert checked(server, "Mars", truth, rules="judge") == 0.0
    assert "names Venus" in server.posts[-1]["messages"][0]["content"]
    assert checked(server, "Mars and Venus", truth, rules="judge") == 1.0
    assert checked(server, "Mars", truth, rules="ignore") == 1.0
    assert "names Venus" not in server.posts[-1]["messages"][0]["content"]


def test_a_rule_that_crashes_is_no_zero_and_costs_no_token(server: FaultyServer) -> None:
    with pytest.raises(CalipersError, match="got no score: abstained"):
        checked(server, "Mars", {"checkers": ["[rule] R: r", "[llm] M: names Mars"], "functions": [CRASHES, ""]})
    assert server.posts == []


def test_rules_alone_need_no_judge_and_no_prompt(server: FaultyServer) -> None:
    truth = {"checkers": ["[rule] Commas: none"], "functions": [NO_COMMA]}
    assert [checked(server, answer, truth, {}) for answer in ("Mars", "Mars, Venus")] == [1.0, 0.0]
    assert server.posts == []


@pytest.mark.parametrize("key", ["prompt", "instruction", "prompt_str", "prompt_text"])
def test_what_was_asked_is_found_where_verif_has_it(server: FaultyServer, key: str) -> None:
    assert checked(server, "Mars", row={key: "Which planets are there?"}) == 1.0
    assert "Which planets are there?" in server.posts[-1]["messages"][-1]["content"]


@pytest.mark.parametrize(
    ("truth", "row", "sentence"),
    [
        (
            TRUTH,
            {},
            r"planets: a judge must know what was asked, .* has prompt or instruction or prompt_str",
        ),
        ("", {"prompt": ASKED}, r"no reward_model.ground_truth with checkers and functions"),
        ("not json", {"prompt": ASKED}, r"ground_truth: not JSON"),
        (
            {"checkers": ["[rule] x"], "functions": [""]},
            {"prompt": ASKED},
            r"functions\[0\]: a rule's source must be text",
        ),
    ],
)
def test_rows_that_cannot_be_read_are_errors(server: FaultyServer, truth: Any, row: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        checked(server, "Mars", truth, row)


def test_thoughts_are_not_checked_and_an_answer_that_never_came_gets_nothing(server: FaultyServer) -> None:
    assert checked(server, "<think>one, two</think>Mars") == 1.0
    asked = len(server.posts)
    assert checked(server, "<think>Mars") == 0.0
    assert len(server.posts) == asked


# --- for the agent loop ---------------------------------------------------------------------------------------------


def test_a_group_has_what_its_recipe_needs() -> None:
    row = {"uid": "u", "raw_prompt": ASKED, "reward_model": {"ground_truth": json.dumps(TRUTH)}, "extra_info": ROW}
    batch, rules = (read_settings({"judge": "embedded", "recipe": name}) for name in ("rubric_batch", "verif"))
    with pytest.warns(
        UserWarning, match=r"the rules in reward_model\.ground_truth\.checkers of the data set's rows: not used"
    ):
        head = common_group_fields(row, batch, rubric="")
    assert head["rubric"].criteria[2].points == -4
    assert head["context"] == ASKED
    with pytest.warns(
        UserWarning, match=r"the rubric in extra_info\.reward_model\.rubrics of the data set's rows: not used"
    ):
        assert common_group_fields(row, rules, rubric="")["ground_truth"] == TRUTH
    with pytest.raises(InputError, match="no criteria"):
        common_group_fields({**row, "extra_info": {}}, batch, rubric="")
    with pytest.raises(InputError, match=r"no reward_model\.ground_truth"):
        common_group_fields({**row, "reward_model": {}}, rules, rubric="")
