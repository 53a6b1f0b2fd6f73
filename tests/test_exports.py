"""The public surface, pinned: a name comes or goes on purpose only."""

import importlib
import pydoc
import subprocess
import sys

import pytest

import calipers

PUBLIC = {
    "DEFAULT_RUBRIC", "BackendError", "CalipersError", "ChoiceReading", "ConfigError", "Criterion", "Grading",
    "GroupResult", "Hybrid", "InputError", "Judge", "LedgerError", "RankingReading", "Rubric", "ScoreReading",
    "Trajectory", "TrajectoryGroup", "TrajectoryResult", "Usage", "VerdictReading", "__version__", "calibrate",
    "extract_choice", "extract_ranking", "extract_scores", "extract_verdict", "read_groups", "read_rubric",
    "read_rubrics", "run", "score_group", "score_groups",
}  # fmt: skip


def test_the_public_names_are_these_and_each_is_described():
    assert set(dir(calipers)) == PUBLIC
    for name in PUBLIC:
        value = getattr(calipers, name)
        assert isinstance(value, str) or value.__doc__, name


def test_help_is_short_and_names_everything():
    text = pydoc.plain(pydoc.render_doc(calipers))
    assert len(text.splitlines()) < 100
    assert [name for name in PUBLIC if name not in text] == ["__version__"]


def test_what_a_judge_shows_is_documented():
    names = {name for name in dir(calipers.Judge("embedded")) if not name.startswith("_")}
    assert names == {
        "check", "close", "concurrency", "of", "require_answering", "score_group", "score_groups", "settings",
    }  # fmt: skip
    described = [name for name in names if getattr(getattr(calipers.Judge, name, None), "__doc__", None)]
    assert sorted(names - {*described}) == ["concurrency", "settings"]
    assert "``settings`` and ``concurrency``" in (calipers.Judge.__doc__ or "")


def test_a_wrong_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="score_grup"):
        calipers.score_grup  # noqa: B018 - what is tested


@pytest.mark.parametrize("name", ["calipers.testing", "calipers.verifiers"])
def test_names_of_a_package_are_sorted_and_described(name: str):
    package = importlib.import_module(name)
    assert list(package.__all__) == sorted(package.__all__)
    assert [one for one in package.__all__ if not getattr(package, one).__doc__] == []
    with pytest.raises(AttributeError, match="regexp"):
        package.regexp  # noqa: B018 - what is tested


@pytest.mark.parametrize(("name", "heavy"), [
    ("calipers", {"aiohttp", "numpy", "rich", "click", "asyncio", "sqlite3"}),
    ("calipers.verifiers", {"subprocess", "asyncio", "jsonschema", "decimal"}),
    ("calipers.trainers.art", {"art", "litellm", "openai", "aiohttp", "polars"}),
    ("calipers.trainers.verl", {"verl", "ray", "torch", "omegaconf"}),
])  # fmt: skip
def test_importing_a_package_imports_nothing_heavy(name: str, heavy: set[str]):
    code = f"import sys, {name}; print(*sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
