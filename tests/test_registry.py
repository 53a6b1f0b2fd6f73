"""Names are resolved in one place, and other packages add theirs: reached by name, from Python and from the command
line."""

from __future__ import annotations

import importlib.metadata
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import calipers
from calipers import registry
from calipers.backends.connect import find_backend
from calipers.errors import ConfigError
from calipers.registry import BACKENDS, PROTOCOLS, READERS, REWARDS, VERIFIERS, Registry
from calipers.verifiers import verifier_from
from command_line import Ended, ended, read_rows, started
from groups import group_of

ALL = (BACKENDS, PROTOCOLS, READERS, REWARDS, VERIFIERS)
PACKAGE = Path(__file__).parent / "other_package"
TALK = "What is 2 + 3?\nIt is five.\nFive, as can be counted.\nfive?\n\nWho?\n\nName a colour.\nred.\nblue it is."


@pytest.fixture
def other_package(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package that adds one of each kind, installed."""
    monkeypatch.syspath_prepend(str(PACKAGE))
    registry._entry_points.cache_clear()
    yield
    registry._entry_points.cache_clear()
    sys.modules.pop("acme_judging", None)


def run(folder: Path, *arguments: str) -> Ended:
    """Run ``calipers`` beside the other package, in a process that has looked for no package yet."""
    return ended(started(folder, *arguments, PYTHONPATH=str(PACKAGE)))


def test_every_name_of_ours_leads_to_a_thing_and_an_unknown_one_to_the_nearest_or_all() -> None:
    for kind in ALL:
        for name in kind.ours:
            assert kind.find(name) is not None
        known = min(kind.ours)
        with pytest.raises(ConfigError, match=f"unknown {kind.what} '{known}x'; did you mean {known}?"):
            kind.find(f"{known}x")
        with pytest.raises(ConfigError, match=f"unknown {kind.what} 'zzz'; there are: {', '.join(kind.names())}"):
            kind.find("zzz")


def test_a_judge_of_ours_is_made_without_a_search_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    def searched(**_: object) -> None:
        raise AssertionError("the environment was searched for entry points")

    registry._entry_points.cache_clear()
    monkeypatch.setattr(importlib.metadata, "entry_points", searched)
    for protocol in PROTOCOLS.ours:
        rubric = [{"id": "a", "criterion": "It is good.", "points": 1}] if protocol == "checklist" else None
        calipers.Judge("vllm/m", protocol=protocol, rubric=rubric)
    calipers.Judge("embedded", reward="rank")
    assert list(calipers.read_groups(PACKAGE.parent.parent / "examples" / "groups.jsonl"))
    with pytest.raises(AssertionError, match="was searched"):
        calipers.Judge("embedded", reward={"kind": "cubed"})


@pytest.mark.usefixtures("other_package")
def test_another_packages_things_are_found_by_name() -> None:
    assert {"acme_cloud", "wordy", "openai"} <= set(BACKENDS.names())
    assert READERS.names() == sorted([*READERS.ours, "talk"])
    assert find_backend("wordy:5").model == "wordy-5"
    assert verifier_from({"ends_with": {"text": "."}}) == VERIFIERS.find("ends_with")(".")
    judge = calipers.Judge("wordy", protocol="terse", reward="cubed")
    assert judge.settings.protocol == "terse"


@pytest.mark.usefixtures("other_package")
def test_a_provider_of_another_package_is_asked_as_ours_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="ACME_CLOUD_API_KEY is not set"):
        find_backend("acme_cloud/m")
    monkeypatch.setenv("ACME_CLOUD_API_KEY", "k")
    assert find_backend("acme_cloud/m").endpoint == "https://acme.example/v1 with k"
    assert find_backend("acme_cloud/m@http://localhost:1/v1").endpoint == "http://localhost:1/v1 with k"


@pytest.mark.usefixtures("other_package")
def test_a_name_of_ours_is_not_taken_and_the_package_that_tried_is_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "calipers"):
        assert "cubed" in REWARDS.names()
        assert REWARDS.find("rank").__module__ == "calipers.rewards.rank"
    assert [one.getMessage() for one in caplog.records] == [
        "The reward 'rank' of the package acme-judging 1.2 is not used: calipers has one of that name."
    ]


@pytest.mark.usefixtures("other_package")
def test_a_broken_package_is_named_when_it_is_asked_for_and_not_before() -> None:
    assert "broken" in REWARDS.names()
    assert REWARDS.find("cubed")
    broken = (
        r"the reward 'broken' of the package acme-judging 1\.2 .*acme_judging\.missing:Nothing.*ModuleNotFoundError"
    )
    with pytest.raises(ConfigError, match=broken):
        calipers.Judge("embedded", reward="broken")
    with pytest.raises(ConfigError, match=r"the protocol 'loose' is .*must name a calipers\.registry\.Method"):
        calipers.Judge("embedded", protocol="loose")


@pytest.mark.usefixtures("other_package")
def test_two_packages_with_one_name_are_both_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "rival-0.1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: rival\nVersion: 0.1\n")
    (folder / "entry_points.txt").write_text("[calipers.rewards]\ncubed = rival:Cubed\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        ConfigError, match=r"several packages bring a reward 'cubed': (?=.*rival 0\.1).*acme-judging 1\.2"
    ):
        REWARDS.find("cubed")


def test_one_of_each_kind_is_reached_by_name_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "groups.talk").write_text(TALK)
    (tmp_path / "rules.toml").write_text('rules = [{ends_with = {text = "."}}]\ncombine = "min"\n')
    command = ["score", "groups.talk", "-o", "out.jsonl", "--judge", "wordy:1", "--protocol", "terse"]
    done = run(tmp_path, *command, "--reward", "cubed", "--rules", "rules.toml")
    assert (done.code, "groups.talk:2: it has no answers" in done.err) == (1, True), done.err
    first, second = read_rows(tmp_path / "out.jsonl")
    assert [one["explanation"] for one in first["trajectories"]] == ["asked by Acme"] * 3
    assert [one["reward"] for one in first["trajectories"]] == pytest.approx([0.31**3, 0.51**3, 0.0])
    assert [one["reward"] for one in second["trajectories"]] == pytest.approx([0.11**3, 0.31**3])


def test_a_reader_is_also_named_by_a_flag_and_help_has_all_that_is_registered(tmp_path: Path) -> None:
    (tmp_path / "groups.txt").write_text(TALK)
    done = run(tmp_path, "score", "groups.txt", "-o", "-", "--judge", "wordy", "--reader", "talk")
    assert [len(json.loads(line)["trajectories"]) for line in done.out.splitlines()] == [3, 2]
    shown = "".join(run(tmp_path, "score", "--help-all").out.split())
    for kind, theirs in ((READERS, ["talk"]), (PROTOCOLS, ["loose", "terse"]), (REWARDS, ["broken", "cubed"])):
        assert f"[{','.join(sorted([*kind.ours, *theirs]))}" in shown


def test_a_group_that_is_one_already_may_come_from_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(1, group_of({"a": "x", "b": "y"})), (2, [[{"role": "assistant", "content": "c"}]])]
    monkeypatch.setattr(Registry, "find", lambda *_: lambda _: iter(found))
    first, second = calipers.read_groups(tmp_path / "any", reader="any")
    assert first == found[0][1]
    assert len(second.trajectories) == 1
