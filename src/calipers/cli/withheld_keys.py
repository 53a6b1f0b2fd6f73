"""Withholds API keys: an address from a settings file that the user did not name gets no provider's key.

Such a file may have come with somebody's data, and its address would receive the user's key. Not responsible for which
file was read (``settings_file``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

import click

from calipers import registry
from calipers.backends.names import split_judge_name
from calipers.backends.providers.known import provider_of
from calipers.cli.messages import print_message
from calipers.cli.settings_file import is_from_unnamed_file
from calipers.errors import ConfigError

_INSTEAD: Final = "withheld"
"""The text that is sent in place of a withheld key: if no key were given, it would be read from the environment."""
_ADDRESSES: Final = frozenset({"base_url", "api_base", "api_key", "custom_llm_provider", "extra_headers", "proxy"})
"""Parameters that change where LiteLLM sends a request, or under which account. LiteLLM publishes no list, so this
list is incomplete.
"""
_OF_SAMPLING: Final = frozenset(
    {
        "chat_template_kwargs", "enable_thinking", "frequency_penalty", "logit_bias", "max_completion_tokens",
        "max_tokens", "min_p", "presence_penalty", "reasoning", "reasoning_effort", "repetition_penalty",
        "response_format", "safety_settings", "seed", "service_tier", "stop", "temperature", "thinking", "top_k",
        "top_p", "verbosity",
    }
)  # fmt: skip
"""Parameters that change how a model answers, and never where a request is sent."""
_USUAL_PORTS: Final = {"http": 80, "https": 443}


def keys_for(judges: Sequence[str], base_urls: Sequence[str], writer: str | None = None) -> str | dict[str, str] | None:
    """Return ``key_for`` each judge of a command, in the form that ``Judge`` takes: by name if there are several.

    ``writer`` is the model that writes criteria, if the command names one.
    """
    if writer is not None and writer not in judges:
        keys = {judge: key_for(judge, base_urls if len(judges) == 1 else ()) for judge in judges}
        keys[writer] = key_for(writer, flag="criteria_writer")
        return {name: key for name, key in keys.items() if key is not None} or None
    if len(judges) == 1:
        return key_for(judges[0], base_urls)
    return {judge: key for judge in judges if (key := key_for(judge)) is not None} or None


def key_for(name: str, base_urls: Sequence[str] = (), *, flag: str = "judge") -> str | None:
    """Return the ``api_key`` for the judge ``name``, which the command's ``flag`` set.

    Returns None if the judge's own key may be sent, else a stand-in text, and prints to stderr which key is withheld,
    and from which address. Raises ConfigError for a request parameter that is an address.
    """
    context = click.get_current_context()
    bare, url = split_judge_name(name)
    known = provider_of(bare)
    _refuse_addresses(context, through_litellm="/" in bare and known is None)
    urls = base_urls if url is None else (url,)
    doubted = is_from_unnamed_file(context, "base_url" if url is None else flag)
    if known is None and "://" in bare and is_from_unnamed_file(context, flag):
        doubted, urls = True, (*urls, bare.partition("/")[2])  # LiteLLM takes some models' names for addresses
    # A list, so that every address is checked and reported.
    withheld = [where for where in urls if doubted and _withhold(bare, where)]
    return _INSTEAD if withheld else None


def _withhold(name: str, url: str) -> bool:
    """Whether a key for another address would be sent to ``url``; if so, report that it is withheld."""
    known = provider_of(name)
    if known is None:
        variable = "its key"  # only LiteLLM knows the variable of the key
    else:
        provider = registry.BACKENDS.find(known)
        named = provider.named_address()  # the user set the address in the environment, so it may get the key
        held = provider.credential()
        if held is None or _server(url) in {_server(one) for one in (provider.base_url, *(named or ())[:1])}:
            return False
        variable = held
    at = _server(url)
    shown = "the address in its name" if at is None or at[1] == url else at[1]
    print_message(
        f"Note: {variable} is not sent to {shown}: calipers.toml was found in the working directory and sets that "
        "address. If it is yours, give --base-url on the command line, or --config calipers.toml."
    )
    return True


def _server(url: str) -> tuple[str, str, int | None] | None:
    """Return scheme, host and port of a URL, all of which must match for a key to be sent; None if it is no address."""
    try:
        parts = urlsplit(url.strip())
        return parts.scheme, parts.hostname or url, parts.port or _USUAL_PORTS.get(parts.scheme)
    except ValueError:
        return None


def _refuse_addresses(context: click.Context, *, through_litellm: bool) -> None:
    if not is_from_unnamed_file(context, "param"):
        return
    for text in context.params.get("param", ()):
        key = str(text).partition("=")[0].strip()
        if key in _ADDRESSES or (through_litellm and key not in _OF_SAMPLING):
            raise ConfigError(
                f"calipers.toml: param {key!r} may change which server is asked, and a settings file that was found in "
                "the working directory must not do that: give --param on the command line, or name the file with "
                "--config calipers.toml"
            )
