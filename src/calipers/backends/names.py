"""A judge's name as it is written, taken apart: the name, the base URL behind it, and what of it may be shown.

Pure. Not responsible for which judge a name stands for (``connect``).
"""

from __future__ import annotations

from urllib.parse import urlsplit


def apart(name: str) -> tuple[str, str | None]:
    """A judge name and the base URL written behind it (``vllm/qwen3@http://gpu1:8000/v1``), if there is one."""
    for start in ("@http://", "@https://"):
        if start in name:
            before, _, after = name.partition(start)
            return before, start[1:] + after
    return name, None


def is_stand_in(name: str) -> bool:
    """Whether the name is of a judge for wiring and tests, whose opinions are nothing to train on."""
    return name == "embedded" or name.startswith(("scripted:", "embedded:"))


def shown(name: str) -> str:
    """The name without a user or password in its base URL: results, ledgers and error texts hold no secret."""
    before, url = apart(name)
    if url is None:
        return name
    return f"{before}@{shown_url(url)}"


def shown_url(url: str) -> str:
    """The address without a user or password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
