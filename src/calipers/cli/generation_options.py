"""The options of commands that generate responses: ``generate`` and ``ifeval``. Not responsible for what they mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from calipers.cli.command_options import FiniteRange, command_option

F = TypeVar("F", bound=Callable[..., Any])


def generation_options(command: F) -> F:
    """Add the options of commands that generate responses to ``command``."""
    for option in reversed(
        [
            command_option(
                "--model",
                metavar="MODEL",
                help="The model that responds: provider/model, a server's model, a folder, or a name on the hub.",
            ),
            command_option(
                "--base-url",
                multiple=True,
                metavar="URL",
                help="An OpenAI-compatible server. May be repeated: the servers share the work. "
                "[default: the provider's, else vLLM in this process]",
            ),
            command_option(
                "--n", default=1, show_default=True, type=click.IntRange(1), help="Responses to each prompt."
            ),
            command_option(
                "--max-tokens",
                default=4096,
                show_default=True,
                type=click.IntRange(1),
                help="Token limit of a response, reasoning included.",
            ),
            command_option(
                "--temperature",
                type=FiniteRange(0),
                metavar="T",
                help="Sampling temperature. [default: the model's]",
            ),
            command_option(
                "--top-p",
                type=FiniteRange(0, 1, min_open=True),
                metavar="P",
                help="Sample from the smallest set of tokens with this total probability. [default: the model's]",
            ),
            command_option(
                "--sampling-seed",
                type=int,
                metavar="N",
                help="Seed of sampling: response i of a prompt uses the seed N + i.",
            ),
            command_option(
                "--param",
                multiple=True,
                named=True,
                metavar="KEY=VALUE",
                help="A further request parameter, e.g. top_k=20 (VALUE is JSON or text). May be repeated.",
            ),
            command_option(
                "--concurrency", default=64, show_default=True, type=click.IntRange(1), help="Requests in flight."
            ),
            command_option(
                "--timeout",
                default=600.0,
                show_default=True,
                type=FiniteRange(0, min_open=True),
                help="Seconds a request may take.",
            ),
            command_option(
                "--price",
                metavar="IN,OUT[,CACHED]",
                help="US dollars per million tokens of input, output and cached input, for a model that the price list "
                "lacks. [default: the price list's]",
            ),
            command_option(
                "--tp-size",
                default=1,
                show_default=True,
                type=click.IntRange(1),
                help="The number of devices that share a model loaded in this process.",
            ),
            command_option(
                "--gpu-memory",
                type=click.FloatRange(0, 1, min_open=True),
                metavar="SHARE",
                help="The share of a device's memory that a model loaded in this process may take. [default: vLLM's]",
            ),
            command_option(
                "--max-length",
                type=click.IntRange(1),
                help="Token limit of prompt and response together, in this process. [default: the model's]",
            ),
            command_option(
                "--dtype",
                metavar="TYPE",
                help="The type of the model's weights in this process, e.g. bfloat16. [default: the model's]",
            ),
            command_option(
                "--batch",
                type=click.IntRange(1),
                help="The most responses that a model in this process generates at a time. [default: vLLM's]",
            ),
            command_option(
                "--chat-template",
                type=click.Path(exists=True, dir_okay=False),
                metavar="FILE",
                help="A Jinja chat template for a model in this process, instead of its own.",
            ),
            command_option(
                "--no-chat-template",
                is_flag=True,
                help="Give a model in this process the prompt's text as it is: for base models.",
            ),
            command_option(
                "--ckpt-dir",
                type=click.Path(file_okay=False),
                named=True,
                metavar="DIR",
                help="A folder with an FSDP checkpoint of verl, which is merged first. Needs --merge-target.",
            ),
            command_option(
                "--merge-target",
                type=click.Path(file_okay=False),
                named=True,
                metavar="DIR",
                help="The folder of the merged model. If it holds one already, nothing is merged.",
            ),
        ]
    ):
        command = option(command)
    return command
