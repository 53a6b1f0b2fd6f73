"""The examples with ART: the whole loop makes the policy better, and what replaces RULER scores."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from example_loops import run_example, run_loop


@pytest.mark.timeout(600)
def test_the_loop_with_art_makes_the_policy_better(tmp_path: Path):
    missing = [name for name in ("art", "torch", "transformers") if find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)} (.ci/engines)")
    run_loop("art_loop.py", tmp_path)


@pytest.mark.parametrize("name", ["art_joke.py", "ruler_five_lines.py"])
def test_what_replaces_ruler_scores_a_group(name: str, tmp_path: Path):
    pytest.importorskip("art", reason="openpipe-art is not installed (pip install 'calipers[art]')")
    rewards = [float(one) for one in re.findall(r"^reward ([\d.]+)", run_example(name, tmp_path), re.MULTILINE)]
    assert len(rewards) == 3
    assert max(rewards) > min(rewards)
