"""``calipers study train`` and ``figures``, as a person runs them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from calipers.cli import main

Run = Callable[..., tuple[int, str, str]]
FEW = ("--policy", "closed-form", "--steps", "3", "--seeds", "2")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``calipers study`` in an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["calipers", "study", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return call


def mine(run: Run) -> str:
    """A file of three arms of the study of failures."""
    _, text, _ = run("train", "failures", "--show")
    head, *arms = text.split("[[arms]]\n")
    Path("mine.toml").write_text("[[arms]]\n".join([head, *arms[1:]]).replace('"independent", ', ""), encoding="utf-8")
    return "mine.toml"


def test_a_study_is_trained_printed_written_and_drawn(run: Run) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'calipers[study]'")
    file = mine(run)
    code, out, told = run("train", file, *FEW, "-o", "made")
    assert code == 0
    assert "failures length zero" in out
    assert "5 arms, 10 runs of 3 steps, policy closed-form" in told
    assert "unknown: no arm is a control with true rewards" in told
    found = json.loads(Path("made/results.json").read_text(encoding="utf-8"))
    assert found["arms"][2]["differences"]["length"]["n"] == 2
    code, out, _ = run("figures", "made", "--curve", "length", "--curve", "held_out_truth", "-o", "drawn")
    assert (code, sorted(path.name for path in Path("drawn").iterdir())) == (
        0,
        [f"made-{name}.{form}" for name in ("held_out_truth", "length") for form in ("png", "svg")],
    )
    for some in (
        ("--over", "calls", "--curve", "truth"),
        ("--differences", "--arm", "failures length zero", "--curve", "length"),
    ):
        assert run("figures", "made", *some, "-o", "drawn")[0] == 0
    wrong: tuple[tuple[tuple[str, ...], str], ...] = (
        (("--curve", "lenght"), "Did you mean length?"),
        (("--arm", "nobody"), "no arm 'nobody'"),
        (("--arm", "placebo", "--differences"), "is compared with another"),
    )
    for more, said in wrong:
        code, _, told = run("figures", "made", *more)
        assert (code, said in told) == (2, True), more


def test_check_and_wrong_configurations_run_nothing(run: Run) -> None:
    code, _, told = run("train", "order", "--check")
    assert code == 0
    assert "With 20 paired seeds" in told
    Path("bad.toml").write_text(
        '[training]\nklu = 1\n[judges.a]\n[[arms]]\nname = "a"\njudge = "a"\n', encoding="utf-8"
    )
    for config, said in (("bad.toml", "bad.toml:2: "), ("ordre", "Did you mean order?"), ("no.toml", "no such file")):
        code, out, told = run("train", config, *FEW)
        assert (code, out) == (2, "")
        assert said in told
    assert sorted(path.name for path in Path().iterdir()) == ["bad.toml"]
    Path("results.json").write_text("{}", encoding="utf-8")
    assert run("figures", "results.json")[0] == 2
