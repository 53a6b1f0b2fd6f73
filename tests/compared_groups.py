"""Groups of short answers, right and wrong, for tests that compare judges."""

from __future__ import annotations

import json
import random
from pathlib import Path

from calipers.types import Trajectory, TrajectoryGroup

_WORDS = ("river", "stone", "cloud", "lamp", "paper", "engine", "market", "window", "garden", "bridge", "signal")


def compared_groups(count: int = 12, size: int = 4) -> list[TrajectoryGroup]:
    """Groups of answers of different lengths; half are right, and some have hedges."""
    drawn = random.Random(7)
    return [
        TrajectoryGroup(
            f"g{number}",
            tuple(_member(f"a{place}", drawn, right=(place + number) % 2 == 0) for place in range(size)),
            ({"role": "user", "content": f"Question {number}: what is the result?"},),
        )
        for number in range(count)
    ]


def _member(name: str, drawn: random.Random, *, right: bool) -> Trajectory:
    said = [f"The {drawn.choice(_WORDS)} holds {drawn.randint(2, 99)} parts." for _ in range(drawn.randint(1, 5))]
    if drawn.random() < 0.5:
        said.insert(0, f"I think the {drawn.choice(_WORDS)} comes first.")
    said.append(f"So the result is {42 if right else drawn.randint(50, 99)}.")
    message = {"role": "assistant", "content": " ".join(said)}
    return Trajectory(name, (message,), gold=float(right), metadata={"polite": f"Here you are. {' '.join(said)}"})


def comparison_folder(folder: Path, toml: str, groups: list[TrajectoryGroup] | None = None) -> Path:
    """A folder with groups.jsonl and compare.toml; returns the path of the latter."""
    lines = [json.dumps(one.to_dict()) for one in (compared_groups() if groups is None else groups)]
    (folder / "groups.jsonl").write_text("\n".join(lines), encoding="utf-8")
    config = folder / "compare.toml"
    config.write_text(toml, encoding="utf-8")
    return config
