"""The judges of arms: vices by name, panels, models; what a stranger's file may not do; the order of arrival."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calipers import Judge
from calipers.errors import ConfigError, InputError
from calipers.study.profiles.named import PositionCurve
from calipers.study.reading import TomlFile
from calipers.study.training.judges import VICES, ArrivalJudge, Truth, arrival_places, judge_for, vice_of
from calipers.study.training.study_file import study_of
from calipers.study.training.vices import Shuffled, first_place
from calipers.testing import Drift, LengthBias, Noise, PositionBias, SimulatedJudge
from calipers.types import JudgeRequest
from groups import group_of
from servers.faulty_server import FaultyServer
from training_studies import arm, content_of

LENGTHS = np.array([5, 3, 9, 7, 4, 4, 8, 3])


def test_tables_name_vices_of_calipers_and_of_the_study():
    tables = {
        Noise(0.1): {"kind": "Noise", "sd": 0.1},
        PositionBias(0.2, first_place): {"kind": "PositionBias", "strength": 0.2, "curve": "first"},
        PositionBias(0.2, PositionCurve((1.0, 0.0))): {"kind": "PositionBias", "strength": 0.2, "curve": [1, 0]},
        Drift(LengthBias(0.1), start=5): {"kind": "Drift", "start": 5,
                                          "into": {"kind": "LengthBias", "per_doubling": 0.1}},
        Shuffled(): {"kind": "Shuffled"},
    }  # fmt: skip
    assert {vice: vice_of(table) for vice, table in tables.items()} == {vice: vice for vice in tables}
    assert {"Flaky", "Unread", "Sycophancy"} <= VICES.keys()


def test_a_wrong_vice_is_named_with_the_remedy():
    wrong: list[tuple[Any, str]] = [
        ({"sd": 0.1}, "with kind"),
        ({"kind": "Nois"}, "Did you mean Noise?"),
        ({"kind": "Noise", "ds": 1}, "Noise has no 'ds'"),
        ({"kind": "Noise"}, "cannot be made of these values"),
        ({"kind": "Noise", "sd": -1}, "Noise sd"),
        ({"kind": "Noise", "sd": "big"}, "Noise sd='big'"),
        ({"kind": "Noise", "sd": 10**400}, "Noise sd"),
        ({"kind": "PositionBias", "strength": 1, "curve": "up"}, "one of first, last, ends"),
        ({"kind": "PositionBias", "strength": 1, "curve": []}, "a list of numbers"),
        ({"kind": "Drift", "into": {"kind": "No"}}, "there is no vice 'No'"),
    ]
    for table, said in wrong:
        with pytest.raises(ConfigError) as error:
            vice_of(table)
        assert said in str(error.value), table


def test_a_strangers_file_reads_no_file_and_acts_on_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "outside.md").write_text("secret", encoding="utf-8")
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "loop.md").symlink_to("loop.md")
    os.mkfifo(tmp_path / "study" / "pipe.md")
    model = {"model": "openai/gpt-5-mini"}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"model": "openai/gpt-5-mini@https://evil.example/v1"}, "base_url"),
        ({**model, "options": {"api_key": "x"}}, "api_key"),
        ({**model, "options": {"ledger": "x.db"}}, "ledger"),
        ({**model, "options": {"tools": ["run_python"]}}, "tools"),
        ({**model, "options": {"params": {"api_base": "https://evil.example"}}}, "address"),
        ({**model, "options": {"rubric": "../outside.md"}}, "folder"),
        ({**model, "options": {"rubric": str(tmp_path / "outside.md")}}, "folder"),
        ({"model": f"scripted:{tmp_path / 'outside.md'}"}, "folder"),
        ({"model": "replay:/dev/zero"}, "folder"),
        ({"profile": "../outside.md?fidelity=0.5"}, "folder"),
        ({**model, "options": {"rubric": "outside.md"}}, "No such file"),
        ({**model, "options": {"rubric": "loop.md"}}, "cannot be read"),
        ({**model, "options": {"rubric": "pipe.md"}}, "neither a file nor a folder"),
        ({"model": "scripted:outside.md"}, "study/outside.md"),
        ({"model": "replay:postgresql://evil.example/db"}, "study/postgresql:/evil"),
        ({"model": "replay:sqlite:////etc/passwd"}, "study/sqlite:/etc"),
        ({"model": "litellm/openai/m", "options": {"base_url": "https://evil.example"}}, "LiteLLM"),
        ({"vices": [], "model": "openai/x"}, "one of vices, profile and model"),
        ({"panel": ["own"]}, "panel"),
        ({"model": "nobody/x"}, "nobody"),
        ({"options": {"orders": 0}}, "orders"),
    ]
    for judge, said in wrong:
        with pytest.raises(InputError) as error:
            study_of(TomlFile("", "", content_of({"judge": "own"}, judges={"own": judge})), tmp_path / "study")
        assert said in str(error.value), judge


async def test_an_address_in_a_study_file_gets_no_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with FaultyServer() as server:
        options = {"base_url": server.url, "attempts": 1}
        async with judge_for(arm({"model": "openai/gpt-5-mini", "options": options}), 0, Truth(0, 1)) as judge:
            await judge.score_group(group_of({"1": "a", "2": "b"}))
    assert server.posts
    assert not any("sk-secret" in str(asked.headers) for asked in server.asked)


def places(seed: int = 0, lengths: Any = LENGTHS, **how: float | None) -> list[int]:
    return arrival_places(lengths, 4, np.random.default_rng(seed), **{"jitter": None, "correlation": None, **how})


def test_shorter_rollouts_of_a_group_arrive_first_and_equal_ones_at_random():
    found = places(jitter=0.0)
    assert found[:4] == [1, 0, 3, 2]
    assert (found[4], sorted(found[5:7]), found[7]) == (7, [4, 5], 6)
    assert {places(seed, np.full(4, 5), jitter=0.0)[0] for seed in range(50)} == {0, 1, 2, 3}
    for how in ({}, {"jitter": 2.0}, {"correlation": 0.5}):
        one = places(3, **how)
        assert (sorted(one[:4]), sorted(one[4:])) == ([0, 1, 2, 3], [4, 5, 6, 7])


def test_the_order_has_the_correlation_to_length_that_is_asked_for():
    generator = np.random.default_rng(1)
    lengths = generator.geometric(0.2, size=(2000, 8))
    spread = lengths.std(axis=1) > 0
    for wanted in (-0.7, 0.0, 1.0):
        found = np.array(arrival_places(lengths.ravel(), 8, generator, jitter=None, correlation=wanted))
        ranks = np.argsort(found.reshape(-1, 8), axis=1)
        each = [np.corrcoef(*pair)[0, 1] for pair in zip(lengths[spread], ranks[spread], strict=True)]
        # Ranks are another scale than lengths, so even a perfect order has a correlation below 1.
        assert np.mean(each) == pytest.approx(wanted * 0.93, abs=0.07)


class Watching(SimulatedJudge):
    """Notes the order of the trajectories in every question."""

    def __init__(self) -> None:
        super().__init__(lambda _group, _id: 0.5, model="watching")
        self.shown: list[list[str]] = []

    async def complete(self, request: JudgeRequest):
        view = request.view
        self.shown.append([view.ids[view.candidates[item].members[0]] for item in request.ask.order])
        return await super().complete(request)


async def orders_shown(kind: type[Judge], *texts: str, orders: int) -> list[list[str]]:
    seen = Watching()
    await kind(seen, orders=orders).score_group(group_of({str(n): text for n, text in enumerate(texts, 1)}))
    return seen.shown


async def test_only_a_judge_made_for_it_shows_candidates_as_they_arrived():
    assert await orders_shown(ArrivalJudge, *"dbca", orders=4) == [[*"1234"], [*"4321"], [*"2341"], [*"1432"]]
    # Identical rollouts arrived with the first of them.
    assert await orders_shown(ArrivalJudge, *"bdbca", orders=2) == [[*"1245"], [*"5421"]]
    one, other = [await orders_shown(Judge, *texts, orders=2) for texts in ("dbca", "acbd")]
    assert [["dbca"[int(name) - 1] for name in row] for row in one] == [
        ["acbd"[int(name) - 1] for name in row] for row in other
    ]
