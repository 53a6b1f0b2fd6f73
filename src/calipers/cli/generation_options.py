"""The options of commands that generate responses: ``generate`` and ``ifeval``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from calipers.cli.command_options import FiniteRange, command_option

F = TypeVar("F", bound=Callable[..., Any])
_COUNT: Final = click.IntRange(1)
_FOLDER: Final = click.Path(file_okay=False)
_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "--model": {
        "metavar": "MODEL",
        "help": "The model that responds: provider/model, a server's model, a folder, or a name on the hub.",
    },
    "--base-url": {
        "multiple": True,
        "metavar": "URL",
        "help": "An OpenAI-compatible server. May be repeated: the servers share the work. "
        "[default: the provider's, else vLLM in this process]",
    },
    "--n": {"default": 1, "type": _COUNT, "help": "Responses to each prompt."},
    "--max-tokens": {"default": 4096, "type": _COUNT, "help": "Token limit of a response, reasoning included."},
    "--temperature": {"type": FiniteRange(0), "metavar": "T", "help": "Sampling temperature. [default: the model's]"},
    "--top-p": {
        "type": FiniteRange(0, 1, min_open=True),
        "metavar": "P",
        "help": "Sample from the smallest set of tokens with this total probability. [default: the model's]",
    },
    "--sampling-seed": {
        "type": int,
        "metavar": "N",
        "help": "Seed of sampling: response i of a prompt uses the seed N + i.",
    },
    "--param": {
        "multiple": True,
        "named": True,
        "metavar": "KEY=VALUE",
        "help": "A further request parameter, e.g. top_k=20 (VALUE is JSON or text). May be repeated.",
    },
    "--concurrency": {"default": 64, "type": _COUNT, "help": "Requests in flight."},
    "--timeout": {"default": 600.0, "type": FiniteRange(0, min_open=True), "help": "Seconds a request may take."},
    "--price": {
        "metavar": "IN,OUT[,CACHED]",
        "help": "US dollars per million tokens of input, output and cached input, for a model that the price list "
        "lacks. [default: the price list's]",
    },
    "--tp-size": {
        "default": 1,
        "type": _COUNT,
        "help": "The number of devices that share a model loaded in this process.",
    },
    "--engine": {
        "multiple": True,
        "named": True,
        "metavar": "KEY=VALUE",
        "help": "A further argument of vLLM's LLM in this process, e.g. max_model_len=8192. May be repeated.",
    },
    "--chat-template": {
        "named": True,
        "metavar": "FILE",
        "help": "A Jinja chat template for a model in this process, instead of its own; none gives it the prompt's "
        "text as it is, for base models.",
    },
    "--ckpt-dir": {
        "type": _FOLDER,
        "named": True,
        "metavar": "DIR",
        "help": "A folder with an FSDP checkpoint of verl, which is merged first. Needs --merge-target.",
    },
    "--merge-target": {
        "type": _FOLDER,
        "named": True,
        "metavar": "DIR",
        "help": "The folder of the merged model. If it holds one already, nothing is merged.",
    },
}


def generation_options(command: F) -> F:
    """Add the options of commands that generate responses to ``command``."""
    for name, attributes in reversed(_OPTIONS.items()):
        shown = {"show_default": True} if "default" in attributes else {}
        command = command_option(name, **attributes, **shown)(command)
    return command
