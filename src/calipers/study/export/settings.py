"""The settings of a study on a cluster: the table [cluster] of its TOML file, each with its default and meaning.

Not responsible for reading files (``study_file``) or for what fits together (``problems``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calipers.config.option import any_value, flag, whole_number


@dataclass(frozen=True)
class ClusterSettings:
    """One node, and what is trained on it, beside the study's own tables."""

    model: str = any_value("Qwen/Qwen2.5-7B-Instruct", "The policy: a name on the Hugging Face hub, or a folder.")
    recipes: Sequence[str] = any_value(
        ("rubric-rl",), "What is trained: rubric-rl, rubric-rl-verif, ruscarl, ruscarl-verif, compare."
    )
    variants: Sequence[str] = any_value((), "Variants for a first try: lora, small.")
    data: str = any_value("verinstruct", "The data set to train on.")
    evaluate: Sequence[str] = any_value(("ifeval", "verinstruct"), "The data sets of the result table.")
    evaluator: str | None = any_value(
        None, "The judge, a name under [judges], whose rubric scores are in the result table; by default the first."
    )
    steps: int = whole_number(350, "Steps of each run.", low=1)
    seeds: int = whole_number(1, "Runs of each arm with each recipe.", low=1, high=1000)
    gpus: int = whole_number(8, "GPUs of the node.", low=1, high=64)
    at_once: int = whole_number(2, "Runs that share the node.", low=1, high=64)
    run_gpus: Sequence[Sequence[int]] | None = any_value(
        None, "The GPUs of each run that shares the node, as lists of their numbers; by default divided evenly."
    )
    tensor_parallel: int | None = whole_number(
        None, "GPUs that share a copy of the policy when it responds; by default half of a run's.", low=1
    )
    offload: bool | None = flag(
        None, "Keep weights and optimizer in main memory while they rest; by default on below 4 GPUs a run."
    )
    first_port: int = whole_number(20000, "The first of the ports for Ray and the servers.", low=1024, high=50000)
    serve: Mapping[str, Any] | None = any_value(
        None, "Judges that vLLM serves on the node, by their names under [judges]."
    )
    calipers: Mapping[str, Any] | None = any_value(None, "Further keys of verl's table calipers, such as patience.")
    verl: Mapping[str, Any] | None = any_value(None, "Further settings of verl, by their dotted names.")


@dataclass(frozen=True)
class ServeSettings:
    """How vLLM serves a judge on the node."""

    tensor_parallel: int = whole_number(1, "GPUs that share a copy of the judge.", low=1, high=64)
    copies: int = whole_number(1, "Copies of the judge, which share the work.", low=1, high=64)
    gpus: Sequence[int] | None = any_value(None, "The GPUs, by their numbers; by default the node's last ones.")
    arguments: Sequence[str] = any_value((), "Further arguments of vllm serve.")
