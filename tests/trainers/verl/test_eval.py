"""main_eval's reward function, which scores one response, and the table of settings: no trainer of verl's is needed."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import CalipersError, ConfigError, InputError
from calipers.generation.forms import response_rows, row_for_main_eval, write_rows
from calipers.generation.prompts import read_prompts
from calipers.generation.sampling import Answered, Sample
from calipers.trainers.verl import compute_score
from calipers.trainers.verl.judging import CONCURRENCY, VerlSettings, common_group_fields, make_judge, read_settings
from dataset_rows import ANSWERS, ASKED, ROWS, RULES, SCORES, VERIF
from servers.checker import checker
from servers.faulty_server import Answer, Asked, FaultyServer, error, said


def by_worth(asked: Asked) -> Answer:
    """What the only attempt says it is worth."""
    question = asked.body["messages"][-1]["content"]
    (key,) = re.findall(r"candidate (\w+)\n", question)
    return said(json.dumps({"explanations": {}, "scores": {key: int(re.findall(r"worth (\d+)", question)[-1])}}))


@pytest.fixture
def server(faulty: FaultyServer) -> FaultyServer:
    faulty.script(by_worth)
    return faulty


def score(server: FaultyServer, response: str, truth: object = "", **more: Any) -> float:
    settings: dict[str, Any] = {"judge": "vllm/judge", "base_url": server.url, "attempts": 1, **more}
    return compute_score("jokes", response, truth, **settings)


def question(server: FaultyServer) -> str:
    return "\n".join(message["content"] for message in server.posts[-1]["messages"])


def test_a_response_is_scored_by_itself(server: FaultyServer) -> None:
    assert score(server, "worth 80") == 0.8
    assert "one attempt at a task by itself" in question(server)
    assert len(server.posts) == 1


def test_a_plain_ground_truth_is_a_reference(server: FaultyServer) -> None:
    score(server, "worth 80", "a duck walks in")
    assert "an attempt that agrees with it" in question(server).lower()
    assert "a duck walks in" in question(server)


@pytest.mark.parametrize("in_extra_info", [False, True])
def test_prompt_rubric_and_reference_may_be_in_the_ground_truth_or_in_extra_info(
    server: FaultyServer, *, in_extra_info: bool
) -> None:
    truth: Any = {"prompt": "Tell a joke.", "reference": "a duck", "rubric": "Be funny above all.", "unit_tests": None}
    extra = None
    if in_extra_info:
        prompt = np.array([{"role": "user", "content": "Tell a joke."}])
        extra = {"prompt": prompt, "rubric": "Be funny above all.", "index": 3}
        truth = "a duck"
    verls_own = {"reward_router_address": "", "reward_model_tokenizer": object()}
    assert score(server, "<think>a secret, worth 10</think>worth 90", truth, extra_info=extra, **verls_own) == 0.9
    assert all(part in question(server) for part in ("Tell a joke.", "a duck", "Be funny above all."))
    assert "secret" not in question(server)


@pytest.mark.parametrize("failure", [error(400, "no"), said("no opinion")])
def test_a_failure_raises_and_is_a_number_only_where_that_was_asked_for(server: FaultyServer, failure: Answer) -> None:
    server.script(failure)
    with pytest.raises(CalipersError, match="a response of jokes got no score"):
        score(server, "worth 80")
    assert score(server, "worth 80", on_failure=0.25) == 0.25


@pytest.mark.parametrize("on_failure", [None, 0.0])
def test_a_number_for_failures_does_not_hide_a_judge_that_refuses_everything(
    faulty: FaultyServer, on_failure: float | None
) -> None:
    """The average of a whole evaluation would be that number."""
    faulty.script(error(404, "The model `judge` does not exist"))
    truth = {"prompt": "Joke?", "rubrics": [{"criterion": "is funny", "points": 1, "tags": {}}]}
    with pytest.raises(ConfigError, match="every question was refused"):
        score(faulty, "worth 20", truth, on_failure=on_failure)


def test_settings_that_cannot_work_are_one_sentence(server: FaultyServer) -> None:
    with pytest.raises(ConfigError, match="must be a judge's name"):
        compute_score("jokes", "worth 80", "")
    with pytest.raises(ConfigError, match="params"):
        score(server, "worth 80", params=object())
    for number in (math.nan, True, "raise"):
        with pytest.raises(ConfigError, match="must be a finite number"):
            score(server, "worth 80", on_failure=number)


def test_one_judge_serves_all_responses(server: FaultyServer) -> None:
    assert [score(server, f"worth {worth}", params={"top_p": 0.5}) for worth in (10, 20, 30)] == [0.1, 0.2, 0.3]
    assert server.open_connections == 1


# --- rows with criteria or rules --------------------------------------------------------------------------------------

ROW = ROWS["ruscarl, both places, tags as objects"]["extra_info"]
CRASHES = "def check_following(instruction, response):\n    return response.no_such_thing"


def graded(server: FaultyServer, answer: str, row: Any = ROW, **more: Any) -> float:
    server.script(checker)
    settings = {"grading": {"normaliser": "ruscarl_batch"}, "protocol": "checklist", **more}
    return score(server, answer, extra_info=row, **settings)


def checked(server: FaultyServer, answer: str, truth: Any = VERIF, row: Any = None, **more: Any) -> float:
    server.script(checker)
    return score(server, answer, truth, extra_info=row or {"prompt": ASKED}, reasks=0, **more)


def test_criteria_are_graded_in_one_question_by_ruscarls_formula_or_another(server: FaultyServer) -> None:
    expected = {"Mars and Venus": 1.0, "Mars": 0.75, "Venus": 0.25, "Mars, Pluto": 0.25, "Pluto": 0.0, "none": 0.0}
    assert {answer: graded(server, answer) for answer in expected} == expected
    assert len(server.posts) == len(expected)
    assert graded(server, "Pluto", grading={"normaliser": "healthbench", "reward": "score"}) == -0.5
    criteria = np.array(ROW["reward_model"]["rubrics"], dtype=object)
    parquet = {"prompt": np.array(ASKED), "reward_model": {"rubrics": criteria}, "num_turns": 2}
    assert graded(server, "Mars", parquet) == 0.75
    assert graded(server, "<think>Mars") == 0.0, "cut off in its thoughts, it has no answer"


def test_a_row_without_criteria_is_no_zero(server: FaultyServer) -> None:
    for row in (None, {"prompt": ASKED}, {"prompt": ASKED, "reward_model": {"ground_truth": ""}}):
        with pytest.raises(InputError, match=r"no criteria, .* calipers generate"):
            graded(server, "Mars", row, on_failure=0.0)
    assert server.posts == []


def test_rules_and_soft_constraints_give_the_share_of_rules_times_the_judges_bit(server: FaultyServer) -> None:
    expected = {"Mars and Venus": 1.0, "Mars, Venus": 0.0, "Venus": 0.0, "<think>one, two</think>Mars": 1.0}
    assert {answer: checked(server, answer) for answer in expected} == expected
    asked = len(server.posts)
    assert checked(server, "<think>Mars") == 0.0, "an answer that never came"
    alone = {key: listed[:1] for key, listed in VERIF.items()}
    assert [checked(server, answer, alone, {"index": 1}) for answer in ("Mars", "Mars, Venus")] == [1.0, 0.0]
    assert len(server.posts) == asked, "rules alone need no judge and no prompt"


def test_rules_may_be_judged_or_ignored_instead_of_run(server: FaultyServer) -> None:
    truth = {"checkers": ["[rule] Venus: names Venus", "[llm] Mars: names Mars"], "functions": [CRASHES, ""]}
    assert checked(server, "Mars", truth, rules="judge") == 0.0
    assert "names Venus" in server.posts[-1]["messages"][0]["content"]
    assert checked(server, "Mars", truth, rules="ignore") == 1.0
    assert "names Venus" not in server.posts[-1]["messages"][0]["content"]
    asked = len(server.posts)
    with pytest.raises(CalipersError, match="got no score: abstained"):
        checked(server, "Mars", truth)  # the rule crashes, which is no zero
    assert len(server.posts) == asked


@pytest.mark.parametrize("key", ["prompt", "instruction", "prompt_str", "prompt_text"])
def test_what_was_asked_is_found_where_verif_has_it(server: FaultyServer, key: str) -> None:
    assert checked(server, "Mars", row={key: "Which planets are there?"}) == 1.0
    assert "Which planets are there?" in server.posts[-1]["messages"][-1]["content"]


def test_rows_that_cannot_be_read_are_errors(server: FaultyServer) -> None:
    cases: list[tuple[Any, Any, str]] = [
        (VERIF, {"index": 1}, "jokes: a judge must know what was asked, .* has prompt or instruction or prompt_str"),
        ("", None, "the row has no rules"),
        ({"checkers": ["[rule] x"], "functions": [""]}, None, r"functions\[0\]: a rule's source must be text"),
    ]
    for truth, row, words in cases:
        with pytest.raises(InputError, match=words):
            checked(server, "Mars", truth, row, rules="code")


def test_a_group_of_the_agent_loop_has_the_rules_or_the_criteria_of_its_row_as_the_settings_say() -> None:
    row = {"uid": "u", "raw_prompt": ASKED, "reward_model": {"ground_truth": json.dumps(VERIF)}, "extra_info": ROW}
    criteria, rules = (
        read_settings({"judge": "embedded", **more}) for more in ({"protocol": "checklist"}, {"rules": "code"})
    )
    with pytest.warns(UserWarning, match=r"the rules in reward_model\.ground_truth\.checkers .*: not used"):
        head = common_group_fields(row, criteria, rubric="")
    assert head["rubric"].criteria[2].points == -4
    with pytest.warns(UserWarning, match=r"the rubric in extra_info\.reward_model\.rubrics .*: not used"):
        assert common_group_fields(row, rules, rubric="")["constraints"] == VERIF
    with pytest.raises(InputError, match="no criteria"):
        common_group_fields({"raw_prompt": ASKED}, criteria, rubric="")


# --- what generate writes ---------------------------------------------------------------------------------------------

_missing = [name for name in ("verl", "ray", "pandas", "pyarrow") if find_spec(name) is None]


def mean(name: str) -> float:
    """The mean of both answers' scores, as RuscaRL clips them."""
    return sum(max(0.0, score) for score in SCORES[name]) / 2


def responses(folder: Path, name: str) -> Any:
    """The responses to one row, as ``calipers generate --form rows`` writes them."""
    import pandas as pd  # noqa: PLC0415 - beside verl

    (folder / "row.jsonl").write_text(json.dumps({**ROWS[name], "data_source": name}) + "\n", encoding="utf-8")
    (prompt,) = read_prompts(str(folder / "row.jsonl"), key="question" if "question" in ROWS[name] else None)
    samples = tuple(Sample(number, text, "stop") for number, text in enumerate(ANSWERS))
    write_rows(response_rows(Answered(prompt, samples), "rows"), str(folder / "one.parquet"))
    frame = pd.read_parquet(folder / "one.parquet")[["data_source", "responses", "reward_model"]]
    # Of all structs, main_eval looks at this key alone.
    frame["reward_model"] = [{"ground_truth": one["ground_truth"]} for one in frame["reward_model"]]
    return frame


def main_eval(data: Path, server: FaultyServer, ray_folder: str) -> str:
    """The last line that verl's own command prints."""
    function, ray = "+reward.custom_reward_function", "ray_kwargs.ray_init"
    run = subprocess.run(
        [
            *(sys.executable, "-m", "verl.trainer.main_eval", f"data.path={data}"),
            *(f"{function}.path=pkg://calipers.trainers.verl", f"{function}.name=compute_score"),
            *(f"{function}.reward_kwargs.judge=vllm/judge", f"{function}.reward_kwargs.base_url={server.url}"),
            *(f"{ray}.num_cpus=2", f"+{ray}.include_dashboard=false", f"+{ray}.object_store_memory=100000000"),
            *(f"+{ray}._node_ip_address=127.0.0.1", f"+{ray}._temp_dir={ray_folder}", "hydra.run.dir=."),
        ],
        cwd=data.parent, capture_output=True, text=True, timeout=540, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-4000:]
    return run.stdout.strip().splitlines()[-1]


@pytest.mark.timeout(600)
@pytest.mark.skipif(bool(_missing), reason=f"not installed: {', '.join(_missing)} (pip install 'calipers[verl]')")
def test_verls_main_eval_scores_what_generate_writes_of_every_form_of_row(tmp_path: Path) -> None:
    import pandas as pd  # noqa: PLC0415 - beside verl

    pd.concat([responses(tmp_path, name) for name in ROWS], ignore_index=True).to_parquet(tmp_path / "all.parquet")
    # Ray's sockets need a short path.
    with FaultyServer() as server, tempfile.TemporaryDirectory(prefix="cm", dir="/tmp") as ray_folder:
        server.script(checker)
        printed = main_eval(tmp_path / "all.parquet", server, ray_folder)
    found = {key: float(score) for key, score in re.findall(r"'test_score/(.*?)': (?:np\.float64\()?([\d.]+)", printed)}
    assert found.keys() == ROWS.keys()
    assert {name: found[name] for name in RULES} == {name: pytest.approx(mean(name)) for name in RULES}
    assert found["a plain answer"] == pytest.approx(0.55)


@pytest.mark.parametrize("name", SCORES)
def test_the_ground_truth_alone_says_all_that_a_row_asks_for(name: str) -> None:
    truth = row_for_main_eval(ROWS[name], ASKED)["reward_model"]["ground_truth"]
    assert json.loads(truth)["prompt"] == ASKED
    with FaultyServer() as server:
        server.script(checker)
        settings = {} if name in RULES else {"grading": {"normaliser": "ruscarl_batch"}}
        scores = [score(server, answer, truth, **settings) for answer in ANSWERS]
    assert sum(scores) / 2 == pytest.approx(mean(name))


def test_a_plain_answer_stays_what_functions_of_others_read() -> None:
    row = ROWS["a plain answer"]
    assert row_for_main_eval(row, ASKED) == row


def test_an_answer_beside_a_rubric_becomes_its_reference() -> None:
    row = {"prompt": ASKED, "reward_model": {"ground_truth": "42", "rubrics": [{"criterion": "Says 42.", "points": 1}]}}
    truth = json.loads(row_for_main_eval(row, ASKED)["reward_model"]["ground_truth"])
    assert truth["reference"] == "42"
    assert truth["rubrics"][0]["criterion"] == "Says 42."


# --- the calipers table of verl's configuration -----------------------------------------------------------------------


def table(**more: Any) -> VerlSettings:
    return read_settings({"judge": "embedded", **more})


def test_a_judges_arguments_and_the_groups_are_told_apart() -> None:
    settings = table(orders=2, min_group=3, reference=True)
    assert settings.judge == {"judge": "embedded", "orders": 2}
    assert (settings.min_group, settings.reference, settings.absolute) == (3, True, False)
    assert make_judge(settings).settings.orders == 2


def test_a_table_that_cannot_work_is_one_sentence_before_any_call() -> None:
    tables: list[tuple[Any, str]] = [
        (None, r"names no judge: add \+calipers.judge=openai/gpt-5-mini"),
        ({}, r"\+calipers.judge=None: it must be a judge's name"),
        ({"judge": "embedded", "ordres": 2}, r"\+calipers.ordres: unknown. Did you mean orders\?"),
        ({"judge": "embedded", "api_key": "x"}, "set keys in the environment of every node"),
        ({"judge": "embedded", "parse": "x"}, r"\+calipers.parse: this option is a Python object"),
        ({"judge": "embedded", "min_group": 2.5}, "min_group=2.5"),
        ({"judge": "embedded", "min_group": 1}, "min_group=1: a single rollout has nothing to be compared with"),
        ({"judge": "embedded", "reference": "yes"}, r"\+calipers.reference='yes': it must be true or false"),
        ({"judge": "embedded", "rules": "skip"}, r"rules='skip': it must be one of code, judge"),
        ({"judge": "openai/gpt-5-mini"}, "OPENAI_API_KEY is not set"),
        ({"judge": "embedded", "concurrency": -3}, "concurrency=-3"),
    ]
    for wrong, sentence in tables:
        with pytest.raises(ConfigError, match=sentence):
            make_judge(read_settings(wrong), workers=8)


def test_limits_are_the_whole_runs_and_each_worker_has_its_share() -> None:
    assert make_judge(table(), workers=8).concurrency == CONCURRENCY // 8
    budget = {"calls": 800, "tokens": 1e6}
    make_judge(table(budget=budget, requests_per_minute=80), workers=8)
    assert budget == {"calls": 800, "tokens": 1e6}


@given(total=st.integers(1, 10_000), workers=st.integers(1, 64))
def test_workers_together_stay_within_the_runs_limit(total: int, workers: int) -> None:
    each = make_judge(table(concurrency=total), workers=workers).concurrency
    assert each >= 1
    assert each * workers <= max(total, workers)


def test_rules_make_a_judge_of_one_bit_and_fields_of_grading_are_kept() -> None:
    grading = make_judge(table(rules="code", grading={"mode": "per_criterion"})).settings.grading
    assert grading is not None
    assert (grading.mode, grading.normaliser) == ("per_criterion", "all_or_nothing")


# --- the package ------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(find_spec("verl") is not None, reason="verl is installed: what its absence does cannot be seen")
def test_without_verl_its_classes_are_one_sentence_with_the_command() -> None:
    with pytest.raises(ConfigError, match=r"needs verl's V1 trainer: pip install 'calipers\[verl\]'"):
        import_module("calipers.trainers.verl.agent_loop")
