"""Ray or a cluster that is missing is one sentence with the remedy. Nothing of Ray is imported here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from calipers.cli import app
from calipers.errors import ConfigError
from calipers.ray import score_dataset
from calipers.ray.cluster import cluster
from servers.own_process import free_port


@pytest.fixture(autouse=True)
def _no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)


def test_ray_that_is_not_installed_is_named_with_its_extra():
    with pytest.raises(ConfigError, match=r"pip install 'calipers\[ray\]'"):
        score_dataset(None, judge="embedded")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ray://head:10001", "run the command on a machine of the cluster"),
        ("groups.jsonl", "write auto, local, or HOST:PORT"),
        ("127.0.0.1:99999", "no Ray cluster"),
    ],
)
def test_an_address_that_cannot_work_is_refused_at_once(address: str, said: str):
    with pytest.raises(ConfigError, match=said), cluster(address):
        pass


def test_an_address_where_nobody_listens_is_refused_at_once():
    with pytest.raises(ConfigError, match=r"no Ray cluster.*ray start --head"), cluster(f"127.0.0.1:{free_port()}"):
        pass


@pytest.mark.parametrize(
    ("flags", "said"), [(["-", "--ray", "auto"], "not from stdin"), (["GROUPS", "-vv", "--ray"], "write -v")]
)
def test_what_one_process_alone_can_do_is_refused(tmp_path: Path, flags: list[str], said: str):
    groups = tmp_path / "groups.jsonl"
    groups.write_text('{"trajectories": [{"messages": [{"role": "assistant", "content": "a"}]}]}\n')
    given = [str(groups) if flag == "GROUPS" else flag for flag in flags]
    with pytest.raises(ConfigError, match=said):
        app.main(["score", *given, "-o", str(tmp_path / "out.jsonl")], standalone_mode=False)
    assert not (tmp_path / "out.jsonl").exists()
