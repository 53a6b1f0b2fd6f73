"""What tests of commands share: ledgers, the command line, and a folder of groups with a judge's replies."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import calipers, write_rows
from groups import FOUR, QUALITY, group_of
from servers.ledgers import location, postgres, postgres_url

__all__ = ["calipers", "folder", "location", "postgres", "postgres_url"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with five groups, g0 to g4, and the scores that a scripted judge gives each of them."""
    groups = (group_of(FOUR, group_id=f"g{n}", question=f"{n} + {n}?") for n in range(5))
    write_rows(tmp_path / "groups.jsonl", (group.to_dict() for group in groups))
    scores = {name: round(100 * value) for name, value in QUALITY.items()}
    write_rows(tmp_path / "replies.jsonl", [{"scores": scores}])
    return tmp_path
