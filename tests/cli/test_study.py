"""``calipers study simulate``, as a person runs it."""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calipers.cli import main
from calipers.study.simulation import scenario_names

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs ``calipers study simulate`` in an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["calipers", "study", "simulate", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return call


def test_a_scenario_prints_a_table_and_writes_every_runs_curves(run: Run) -> None:
    code, out, told = run("length", "--seeds", "3", "--steps", "6", "-o", "r.json")
    assert code == 0
    assert "prefers length" in out
    assert "less 'no preference for length', with a 95 % interval over 3 paired runs" in out
    assert "144 steps in" in told
    found = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert found["format"] == "calipers-simulation/1"
    assert found["seeds"] == [0, 1, 2]
    arm = found["arms"][1]
    assert (arm["name"], arm["against"]) == ("prefers length", "no preference for length")
    assert arm["settings"]["judge"]["length"] == 0.1
    assert [len(row) for row in arm["curves"]["truth"]] == [len(arm["curves"]["step"])] * 3
    assert arm["curves"]["reward"][0][-1] is None
    assert arm["differences"]["length"]["n"] == 3
    clean = found["arms"][0]
    less = [one[-1] - other[-1] for one, other in zip(arm["curves"]["length"], clean["curves"]["length"], strict=True)]
    assert arm["differences"]["length"]["mean"] == pytest.approx(sum(less) / 3, abs=1e-4)


def test_the_same_seed_writes_the_same_bytes(run: Run) -> None:
    for name in ("one.json", "two.json"):
        assert run("length", "--seeds", "2", "--steps", "4", "-o", name)[0] == 0
    assert Path("one.json").read_bytes() == Path("two.json").read_bytes()


def test_a_result_is_replaced_and_another_file_is_not(run: Run) -> None:
    few = ("length", "--seeds", "1", "--steps", "2", "-o")
    assert run(*few, "r.json")[0] == 0
    assert run(*few, "r.json")[0] == 0
    Path("mine.txt").write_text("precious", encoding="utf-8")
    code, _, told = run(*few, "mine.txt")
    assert code == 2
    assert "is not a result file of a simulation" in told
    assert Path("mine.txt").read_text(encoding="utf-8") == "precious"
    assert run(*few, "mine.txt", "--force")[0] == 0


def test_the_old_result_stays_until_the_new_one_is_whole(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    few = ("length", "--seeds", "1", "--steps", "2", "-o", "r.json")
    assert run(*few)[0] == 0
    old = Path("r.json").read_bytes()
    Path("link.json").symlink_to("r.json")

    def full(path: Path, text: str, **options: Any) -> int:
        path.write_bytes(text[:99].encode())
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(Path, "write_text", full)
        code, _, told = run(*few, "--seeds", "2")
    assert code == 2
    assert "--out r.json: cannot be written (No space left on device)" in told
    assert Path("r.json").read_bytes() == old
    assert run(*few[:-1], "link.json", "--seeds", "2")[0] == 0
    assert Path("link.json").is_symlink()
    assert len(json.loads(Path("r.json").read_bytes())["seeds"]) == 2


def test_a_shown_scenario_can_be_run_as_a_file(run: Run) -> None:
    code, text, _ = run("length", "--show")
    assert code == 0
    Path("mine.toml").write_text(text, encoding="utf-8")
    for config, out in (("mine.toml", "a.json"), ("length", "b.json")):
        assert run(config, "--seeds", "1", "--steps", "2", "-o", out)[0] == 0
    assert Path("a.json").read_bytes() == Path("b.json").read_bytes()


def test_stdout_has_the_result_and_nothing_else(run: Run) -> None:
    code, out, _ = run("length", "--seeds", "1", "--steps", "2", "-o", "-")
    assert code == 0
    assert json.loads(out)["steps"] == 2


def test_problems_of_a_configuration_are_told_without_a_traceback_and_write_nothing(run: Run) -> None:
    Path("bad.toml").write_text('[judge]\nnoize = 1\n[[arms]]\nname = "a"\n', encoding="utf-8")
    code, out, told = run("bad.toml", "-o", "r.json")
    assert (code, out) == (2, "")
    assert "bad.toml:2: [judge]: unknown key" in told
    assert "unknown key 'noize'. Did you mean noise?" in told
    assert not Path("r.json").exists()
    code, _, told = run("length", "-o", "nowhere/r.json")
    assert code == 2
    assert "its folder does not exist" in told


def test_figures_are_drawn_for_each_curve_named(run: Run, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'calipers[study]'")
    assert run("length", "--seeds", "2", "--steps", "4", "-o", "r.json")[0] == 0
    arguments = ["calipers", "study", "figures", "r.json", "-o", "drawn", "--curve", "truth", "--differences"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    names = {"r-truth-differences.png", "r-truth-differences.svg"}
    assert {path.name for path in Path("drawn").iterdir()} == names
    assert {Path(line).name for line in capsys.readouterr().out.split()} == names


def drawn(*arguments: str) -> int:
    """Runs ``calipers study figures``; returns its exit code."""
    sys.argv = ["calipers", "study", "figures", *arguments, "-o", "drawn"]
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


TRAINED = {
    "format": "calipers-training/1",
    "arms": [
        {
            "name": "a",
            "curves": {"step": [0, 1], "truth": [[0.5, 0.6]], "audit": [[None, None]]},
            "held_out": {"step": [0, 2], "truth": [[0.5, 0.7]], "kl": [[0, 0.2]]},
        }
    ],
}


def test_a_curve_without_numbers_is_not_drawn_and_said_so(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'calipers[study]'")
    del run
    monkeypatch.setattr(sys, "argv", sys.argv)
    Path("r.json").write_text(json.dumps(TRAINED), encoding="utf-8")
    assert drawn("r.json") == 0
    assert {path.name for path in Path("drawn").iterdir()} == {"r-truth.png", "r-truth.svg"}
    assert "Not drawn, because nothing was measured: audit" in capsys.readouterr().err
    assert drawn("r.json", "--curve", "audit") == 2
    assert "the curve 'audit' has no numbers: it was not measured in any run" in capsys.readouterr().err


def test_curves_of_held_out_prompts_have_one_name_over_whatever_they_are_drawn(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install 'calipers[study]'")
    del run
    monkeypatch.setattr(sys, "argv", sys.argv)
    record = {**TRAINED, "format": "calipers-training-record/1"}
    record["arms"] = [{key: value for key, value in TRAINED["arms"][0].items() if key != "curves"}]  # type: ignore[attr-defined]
    for name, content in (("r", TRAINED), ("record", record)):
        Path(f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
        for over in ("step", "kl"):
            assert drawn(f"{name}.json", "--curve", "held_out_truth", "--over", over) == 0
            end = "" if over == "step" else "-over-kl"
            svg = Path("drawn", f"{name}-held_out_truth{end}.svg").read_text(encoding="utf-8")
            assert "true quality (0 to 1)" in svg
    assert not capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--curve", "--arm"])
def test_a_curve_or_an_arm_named_twice_is_refused(
    run: Run, monkeypatch: pytest.MonkeyPatch, capsys: Any, flag: str
) -> None:
    del run
    monkeypatch.setattr(sys, "argv", sys.argv)
    Path("r.json").write_text(json.dumps(TRAINED), encoding="utf-8")
    assert drawn("r.json", flag, "a", flag, "a") == 2
    assert f"{flag} a: is named 2 times" in capsys.readouterr().err


def test_overoptimisation_is_shown_by_the_error_of_each_form(run: Run) -> None:
    code, out, _ = run("overoptimisation", "--seeds", "2", "--steps", "4", "-o", "r.json")
    assert code == 0
    assert "on runs that were not fitted on" in out
    assert "d (α - β log d)" in out


def test_without_a_configuration_the_order_of_judging_is_simulated(run: Run) -> None:
    code, out, _ = run("--seeds", "1", "--steps", "1")
    assert code == 0
    assert "Order of judging" in out
    assert Path("simulation.json").is_file()


def test_the_help_names_every_scenario_and_all_settings_can_be_printed(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert all(name in out for name in scenario_names())
    code, out, _ = run("--settings")
    assert code == 0
    Path("all.toml").write_text(out, encoding="utf-8")
    assert run("all.toml", "--steps", "1", "--seeds", "1", "-o", "r.json")[0] == 0
