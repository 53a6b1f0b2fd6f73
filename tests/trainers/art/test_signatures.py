"""RULER's interface, pinned: names, order, kinds and defaults of arguments, and the result types. Runs without ART."""

from __future__ import annotations

import inspect
import subprocess
import sys

from calipers import DEFAULT_RUBRIC
from calipers.trainers.art import Response, TrajectoryScore, ruler, ruler_score_group
from calipers.trainers.art import reward as art

POSITIONAL, KEYWORD = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
EMPTY = inspect.Parameter.empty

SHARED = [
    ("judge_model", POSITIONAL, "openai/o3"),
    ("extra_litellm_params", POSITIONAL, None),
    ("rubric", POSITIONAL, DEFAULT_RUBRIC),
]


def shape(function: object) -> list[tuple[str, object, object]]:
    assert callable(function)
    return [(one.name, one.kind, one.default) for one in inspect.signature(function).parameters.values()]


def test_ruler_takes_what_rulers_ruler_takes_and_parse_response() -> None:
    assert shape(ruler) == [
        ("message_lists", POSITIONAL, EMPTY),
        *SHARED,
        ("tools", POSITIONAL, None),
        ("debug", KEYWORD, False),
        ("parse_response", KEYWORD, None),
    ]


def test_ruler_score_group_takes_what_rulers_takes_and_parse_response() -> None:
    assert shape(ruler_score_group) == [
        ("group", POSITIONAL, EMPTY),
        *SHARED,
        ("swallow_exceptions", KEYWORD, False),
        ("debug", KEYWORD, False),
        ("parse_response", KEYWORD, None),
    ]


def test_both_are_coroutine_functions_and_the_module_exports_rulers_names() -> None:
    assert inspect.iscoroutinefunction(ruler)
    assert inspect.iscoroutinefunction(ruler_score_group)
    names = {"DEFAULT_RUBRIC", "Response", "TrajectoryScore", "ruler", "ruler_score_group"}
    assert set(art.__all__) - names == {"judged_by"}


def test_a_score_has_rulers_fields() -> None:
    score = TrajectoryScore(trajectory_id="1", explanation="fine", score=0.5)
    assert score.model_dump() == {"trajectory_id": "1", "explanation": "fine", "score": 0.5}
    assert Response(scores=[score]).model_dump() == {"scores": [score.model_dump()]}


def test_importing_the_adapter_imports_neither_art_nor_litellm_nor_a_network_library() -> None:
    names = "{'art', 'litellm', 'openai', 'aiohttp', 'polars'}"
    code = f"import sys, calipers.trainers.art; sys.exit(' '.join({names} & sys.modules.keys()) or None)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
