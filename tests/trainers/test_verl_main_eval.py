"""What ``calipers generate`` writes, verl's own main_eval scores, whatever form the rows had; and what it gets can be
averaged.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from calipers.generation.forms import row_for_main_eval
from calipers.trainers.verl import compute_score
from dataset_rows import ANSWERS, ASKED, ROWS, RULES, SCORES
from own_process import reported
from servers.checker import checker
from servers.faulty_server import FaultyServer

_missing = [name for name in ("verl", "ray", "pandas", "pyarrow") if find_spec(name) is None]


def mean(name: str) -> float:
    """The mean of both answers' scores, as RuscaRL clips them."""
    return sum(max(0.0, score) for score in SCORES[name]) / 2


@pytest.mark.timeout(600)
@pytest.mark.skipif(bool(_missing), reason=f"not installed: {', '.join(_missing)} (pip install 'calipers[verl]')")
def test_verls_main_eval_scores_what_generate_writes_of_every_form_of_row(tmp_path: Path) -> None:
    found = reported(Path(__file__).with_name("main_eval_process.py"), tmp_path, seconds=540)
    assert found.keys() == ROWS.keys()
    assert {name: found[name] for name in RULES} == {name: pytest.approx(mean(name)) for name in RULES}
    assert found["a plain answer"] == pytest.approx(0.55)


@pytest.mark.parametrize("name", SCORES)
def test_the_ground_truth_alone_says_all_that_a_row_asks_for(name: str) -> None:
    truth = row_for_main_eval(ROWS[name], ASKED)["reward_model"]["ground_truth"]
    assert json.loads(truth)["prompt"] == ASKED
    with FaultyServer() as server:
        server.script(checker)
        settings: dict[str, Any] = {"judge": "vllm/judge", "base_url": server.url}
        if name not in RULES:
            settings["grading"] = {"normaliser": "ruscarl_batch"}
        scores = [compute_score("planets", answer, truth, **settings) for answer in ANSWERS]
    assert sum(scores) / 2 == pytest.approx(mean(name))


def test_a_plain_answer_stays_what_functions_of_others_read() -> None:
    row = ROWS["a plain answer"]
    assert row_for_main_eval(row, ASKED) == row


def test_an_answer_beside_a_rubric_becomes_its_reference() -> None:
    row = {"prompt": ASKED, "reward_model": {"ground_truth": "42", "rubrics": [{"criterion": "Says 42.", "points": 1}]}}
    truth = json.loads(row_for_main_eval(row, ASKED)["reward_model"]["ground_truth"])
    assert truth["reference"] == "42"
    assert truth["rubrics"][0]["criterion"] == "Says 42."
