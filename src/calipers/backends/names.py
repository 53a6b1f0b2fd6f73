"""Splits a judge's name as users write it: the name, the base URL after it, and the form without secrets.

Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://.*", re.DOTALL)
_BEHIND_NAME: Final = re.compile(r".*@[\w.-]+:\d+(?:/.*)?")
"""An address without ``http://`` after a judge's name."""


def split_judge_name(name: str) -> tuple[str, str | None]:
    """Return a judge's name and the base URL of its server after it (``vllm/qwen3@http://gpu1:8000/v1``), or None in
    place of the URL.
    """
    for start in ("@http://", "@https://"):
        if start in name:
            before, _, after = name.partition(start)
            return before, start[1:] + after
    return name, None


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Return for each of ``names`` the judge's name without its server's address, where that is unique among them."""
    every = dict.fromkeys(names)
    count = Counter(split_judge_name(name)[0] for name in every)
    return {name: short if count[short := split_judge_name(name)[0]] == 1 else name for name in every}


def is_address(name: str) -> bool:
    """Return whether an address of a server stands where a judge's name belongs."""
    return (_ADDRESS.match(name) or _BEHIND_NAME.fullmatch(name)) is not None


def is_stand_in(name: str) -> bool:
    """Return whether a judge in this process stands in for a model, so that its scores must not be trained on alone."""
    return name == "embedded" or name.startswith(("scripted:", "profile:", "local:"))


def writes_text(name: str) -> bool:
    """Return whether a judge of this name may write text; those with a model of features only score answers."""
    return not name.startswith(("embedded", "profile:", "local:"))


def name_without_password(name: str) -> str:
    """Return the judge's name without user, password and keys in its server's base URL, for results, ledgers and
    error messages.
    """
    before, url = split_judge_name(name)
    if url is not None:
        return f"{before}@{url_without_password(url)}"
    address = _ADDRESS.search(name)  # an address in the place of a name
    return name if address is None else name[: address.start()] + url_without_password(address[0])


def url_without_password(url: str) -> str:
    """Return the address of a judge's server without user, password and parameters, any of which may be a key."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
