"""``calipers study train`` and ``figures``, as a person runs them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from command_line import Calipers, mismatches

FEW = ("--policy", "closed-form", "--steps", 3, "--seeds", 2)


@pytest.fixture
def study(calipers: Calipers) -> Calipers:
    """Run ``calipers study`` in an empty folder."""
    return partial(calipers, "study")


def test_a_study_is_trained_printed_written_and_drawn(study: Calipers) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'calipers[study]'")
    Path("failures").mkdir()  # of an earlier run with -o failures: the name is still the study's
    head, _, *arms, _ = study("train", "failures", "--show").out.split("[[arms]]\n")
    mine = "[[arms]]\n".join([head, *arms]).replace('"independent", ', "")
    Path("mine.toml").write_text(mine, encoding="utf-8")
    run = study("train", "mine.toml", *FEW, "-o", "made")
    assert run.code == 0, run.err
    assert "failures length zero" in run.out
    for words in ("5 arms, 10 runs of 3 steps, policy closed-form", "unknown: no arm is a control with true rewards"):
        assert words in run.err
    found = json.loads(Path("made/results.json").read_text(encoding="utf-8"))
    assert found["arms"][2]["differences"]["length"]["n"] == 2
    curves = ("length", "held_out_truth")
    assert study("figures", "made", "--curve", curves[0], "--curve", curves[1], "-o", "drawn").code == 0
    expected = {f"made-{name}.{form}" for name in curves for form in ("png", "svg")}
    assert {path.name for path in Path("drawn").iterdir()} == expected
    for some in (
        ("--over", "calls", "--curve", "truth"),
        ("--differences", "--arm", "failures length zero", "--curve", "length"),
    ):
        assert study("figures", "made", *some, "-o", "drawn").code == 0
    wrong = [
        (("figures", "made", "--curve", "lenght"), "Did you mean length?"),
        (("figures", "made", "--arm", "nobody"), "no arm 'nobody'"),
        (("figures", "made", "--arm", "placebo", "--differences"), "is compared with another"),
    ]
    assert mismatches(study, wrong) == []


def test_check_and_wrong_configurations_run_nothing(study: Calipers) -> None:
    run = study("train", "order", "--check")
    assert (run.code, "With 20 paired seeds" in run.err) == (0, True)
    bad = '[training]\nklu = 1\n[judges.a]\n[[arms]]\nname = "a"\n'
    Path("bad.toml").write_text(bad, encoding="utf-8")
    Path("worse.toml").write_text(f"{bad}judge = 3\n", encoding="utf-8")
    Path("results.json").write_text("{}", encoding="utf-8")
    cases = [
        (("train", "bad.toml", *FEW), "bad.toml:2: "),
        (("train", "bad.toml", *FEW), "judge: no judge is named"),
        (("train", "worse.toml", *FEW), "judge=3: it must"),
        (("train", "ordre", *FEW), "Did you mean order?"),
        (("train", "no.toml", *FEW), "no such file"),
        (("figures", "results.json"), "results.json: is not a result file of calipers study train: it has no 'format'"),
    ]
    assert mismatches(study, cases) == []
    assert sorted(path.name for path in Path().iterdir()) == ["bad.toml", "results.json", "worse.toml"]
