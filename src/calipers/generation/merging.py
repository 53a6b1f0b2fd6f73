"""Converts an FSDP checkpoint to a model folder, with verl's own merger in a separate process.

verl unpickles the checkpoint, so merge only checkpoints that you trust. verl is not imported here.
"""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from importlib.util import find_spec
from pathlib import Path

from calipers.errors import ConfigError

_SHARDS = "model_world_size_*_rank_*.pt"


def merge_checkpoint(checkpoint: str, target: str) -> str:
    """Merge the FSDP shards in ``checkpoint`` (or in its folder ``actor``) into a model folder that can generate
    responses, and return that folder.

    The folder is ``target``. If it already holds a model, it is not changed. Raises ConfigError with the remedy if
    merging is impossible.
    """
    if is_merged(target):
        return target
    folder = shards(Path(checkpoint))
    if find_spec("verl") is None:
        raise ConfigError(f"merging {checkpoint} needs verl's merger: pip install verl")
    command = [sys.executable, "-m", "verl.model_merger", "merge", "--backend", "fsdp"]
    command += ["--local_dir", str(folder), "--target_dir", target]
    with subprocess.Popen(  # noqa: S603 - our own interpreter and verl's module
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as run:
        assert run.stdout is not None  # noqa: S101 - it was opened as a pipe
        last = deque((line.strip() for line in run.stdout if line.strip()), maxlen=1)
    if run.returncode != 0 or not (Path(target) / "config.json").is_file():
        output = last[0] if last else "nothing"
        raise ConfigError(
            f"verl's merger could not merge {folder} (exit code {run.returncode}); its last output: {output}"
        )
    return target


def is_merged(target: str) -> bool:
    """Return whether the folder ``target`` already holds a merged model that can generate responses."""
    return (Path(target) / "config.json").is_file() and any(Path(target).glob("*.safetensors"))


def shards(checkpoint: Path) -> Path:
    """Return the folder of a checkpoint that holds the shards to merge. Raises ConfigError if there are none."""
    for folder in (checkpoint, checkpoint / "actor"):
        if any(folder.glob(_SHARDS)):
            return folder
    raise ConfigError(
        f"--ckpt-dir {checkpoint}: holds no FSDP checkpoint ({_SHARDS}); name the step's folder, as in "
        "global_step_100/actor"
    )
