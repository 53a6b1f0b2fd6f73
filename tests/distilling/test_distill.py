"""A local judge learns what its teacher says, is measured on other prompts, and says what is wrong with its lessons."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from calipers.distilling import Distilled, distill
from calipers.errors import ConfigError, InputError, LedgerError
from calipers.testing import Constant, SimulatedJudge
from distilled import group_of, groups_of, made, recorded_run, rewards_of


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Distilled:
    return made(tmp_path_factory.mktemp("distilled"))


def test_it_learns_what_its_teacher_prefers_and_says_so_for_prompts_it_never_saw(judge: Distilled):
    found = judge.figures["agreement"]
    assert found["teacher"]["interval"][0] > 0.5
    assert found["gold"]["interval"][0] > 0.5
    assert found["above_longest"]["interval"][0] > 0.2
    assert judge.figures["prompts"] == 30
    result = rewards_of(judge.judge, group_of(1000))
    gold = [one.gold for one in group_of(1000).trajectories]
    assert np.corrcoef(np.array(result.rewards, dtype=float), np.array(gold, dtype=float))[0, 1] > 0.5
    assert all(one.stderr for one in result.trajectories)


def test_its_stated_errors_are_about_as_large_as_those_on_other_prompts(judge: Distilled):
    honest = judge.figures["honesty"]
    assert 0.85 < honest["within_95"] <= 1
    assert 0.8 < honest["ratio"] < 1.25


def test_its_card_has_every_figure_in_words(judge: Distilled):
    card = (judge.folder / "card.md").read_text(encoding="utf-8")
    for heading in ("How far it agrees", "Where it is weak", "How sure it is", "How easily it is gamed"):
        assert f"## {heading}" in card
    assert f"{judge.figures['agreement']['teacher']['value']:+.3f}" in card
    assert "One judge taught it (SimulatedJudge)" in card
    assert json.loads((judge.folder / "card.json").read_text(encoding="utf-8")) == judge.figures


def test_the_same_runs_make_the_same_judge(judge: Distilled, tmp_path: Path):
    again = made(tmp_path)
    assert (again.folder / "model.json").read_bytes() == (judge.folder / "model.json").read_bytes()


def test_no_text_of_a_group_is_in_its_files(judge: Distilled):
    data = b"".join((judge.folder / name).read_bytes() for name in ("model.json", "card.md", "card.json"))
    assert [word for word in (b"orchard", b"telescope") if word in data] == []


def test_what_local_and_embedded_judges_scored_teaches_nothing_and_a_group_counts_once(
    judge: Distilled, tmp_path: Path
):
    ledger = tmp_path / "own.db"
    for asked in (judge.judge, "embedded", [judge.judge, "embedded"]):
        recorded_run(ledger, groups_of(20), asked)
    with pytest.raises(InputError, match=r"left out: 20 groups that only local or embedded judges scored\)"):
        distill(ledger, out=tmp_path / "new")
    strong = SimulatedJudge(lambda _group, one: int(one[1:]) / 4, model="strong")
    recorded_run(ledger, groups_of(12), [judge.judge, strong])
    with pytest.raises(InputError, match=r"12 groups whose scores .* has a part in, 8 groups that only"):
        distill(ledger, out=tmp_path / "new")
    recorded_run(ledger, groups_of(12))
    found = distill(ledger, out=tmp_path / "new").figures
    assert (found["groups"], found["left_out"]) == (12, {"that only local or embedded judges scored": 8})


def test_the_teachers_are_the_judges_whose_scores_were_used_by_name_or_short_name(tmp_path: Path):
    ledger, servers = tmp_path / "run.db", ("early@http://a:1", "good@http://a:1", "b@http://a:1", "b@http://c:1")
    names = [f"vllm/{name}" for name in servers]
    for count, name in zip((12, 12, 1, 1), names, strict=True):
        kind = type(name, (SimulatedJudge,), {})  # the judge of an object has the name of its class
        recorded_run(ledger, groups_of(count), kind(lambda _group, one: int(one[1:]) / 4))
    assert distill(ledger, out=tmp_path / "all").figures["teachers"] == [names[3], names[1]]
    assert distill(ledger, out=tmp_path / "good", teachers=["vllm/good"]).figures["teachers"] == [names[1]]
    for wrong in ("vllm/god", "vllm/b"):
        with pytest.raises(ConfigError, match="[^$]*".join([f"--teacher {wrong}", *sorted(names)])):
            distill(ledger, out=tmp_path / "wrong", teachers=["vllm/good", wrong])


def test_nine_groups_are_too_few_ten_are_few_and_scores_without_spread_teach_nothing(tmp_path: Path):
    for count, prompts, words in ((9, 30, "in 9 groups of 9 prompts, and"), (12, 1, "12 groups of 1 prompt,")):
        ledger = recorded_run(tmp_path / f"{count}.db", groups_of(count, prompts=prompts))
        with pytest.raises(InputError, match=words):
            distill(ledger, out=tmp_path / "judge")
    flat = SimulatedJudge(lambda _group, _one: 0.5, Constant(), model="flat")
    ledger = recorded_run(tmp_path / "flat.db", groups_of(20, gold=False), flat)
    with pytest.raises(InputError, match=r"left out: 20 groups whose scores do not differ\)"):
        distill(ledger, out=tmp_path / "judge")
    assert not (tmp_path / "judge").exists()
    found = made(tmp_path, count=10).figures
    assert any("It learned from 10 groups only" in one for one in found["findings"])


def test_sources_and_folders_that_cannot_be_used_are_named(judge: Distilled, tmp_path: Path):
    ledger, full = judge.folder.parent / "run.db", tmp_path / "full"
    full.mkdir()
    (full / "thesis.txt").write_text("mine")
    with pytest.raises(ConfigError, match="name what to learn from"):
        distill(out=tmp_path / "judge")
    with pytest.raises(LedgerError, match="no such ledger"):
        distill(f"sqlite:///{tmp_path}/nowhere.db", out=tmp_path / "judge")
    for out, words in ((full, "is not empty"), (judge.folder, "is not empty"), (full / "thesis.txt", "is a file")):
        with pytest.raises(ConfigError, match=words):
            distill(ledger, out=out)
