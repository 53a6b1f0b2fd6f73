"""Examines a judge behind several base URLs: each server separately, and the differences between them.

A run distributes its questions over all of them, so a difference between servers is noise in its rewards. Not
responsible for a single examination (``examination``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from calipers.backends.connect import find_backend
from calipers.backends.names import name_without_password, url_without_password
from calipers.doctor.diagnosis import Conclusion, Diagnosis
from calipers.doctor.examination import diagnose
from calipers.errors import ConfigError
from calipers.types import Usage

_FACTS: Final[Mapping[str, str]] = {
    "context window": "tokens",
    "slots": "slots",
    "json_schema applied": "applied",
    "json_object applied": "applied",
    "answers as": "servers",
}
"""Checks with a figure that is a fact about the server. For other checks, servers are compared only by the result of
the check, because figures of a few questions differ by chance.
"""
_TIMES_SLOWER, _SECONDS_SLOWER = 2.0, 0.5
"""Latencies count as different only if the slowest is this many times slower and this many seconds slower."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The diagnoses of a judge's servers by base URL, in the order given; ``differences`` are sentences.

    ``settings`` are those of a run that uses only the fit servers.
    """

    judge: str
    found: Mapping[str, Diagnosis]
    differences: tuple[str, ...]
    verdict: Conclusion
    reason: str
    settings: Mapping[str, Any]
    seconds: float = 0.0

    def as_one(self) -> Diagnosis:
        """Return the doctor's verdict on all servers together as a Diagnosis without checks."""
        calls = sum(one.calls for one in self.found.values())
        usage = Usage.total([one.usage for one in self.found.values()])
        sent = sum(one.sent for one in self.found.values())
        longest = max((one.ask_within for one in self.found.values() if one.ask_within is not None), default=None)
        return Diagnosis(
            self.judge, (), self.verdict, self.reason, self.settings, calls, usage, self.seconds, sent, longest
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON object with the doctor's verdict in the form for one server, ``servers`` by base URL, and
        ``differences``.
        """
        whole = self.as_one().to_dict()
        del whole["checks"]
        servers = {url: one.to_dict() for url, one in self.found.items()}
        return {**whole, "differences": list(self.differences), "servers": servers}


async def diagnose_each(
    judge: str, base_urls: Sequence[str], *, tell: Callable[[str], None] = lambda _: None, **options: Any
) -> Servers:
    """Have the doctor examine ``judge`` at all ``base_urls`` at the same time; ``options`` are those of ``diagnose``.

    Raises ConfigError for invalid settings before any server is contacted.
    """
    shown = [url_without_password(url) for url in base_urls]
    if twice := sorted({url for url in shown if shown.count(url) > 1}):
        raise ConfigError(f"base_url names {', '.join(twice)} more than once")
    for url in base_urls:  # before any of them is contacted
        find_backend(judge, base_url=url, api_key=options.get("api_key"))

    def progress_of(url: str) -> Callable[[str], None]:
        return lambda text: tell(f"{url_without_password(url)}: {text}")

    try:
        async with asyncio.TaskGroup() as tasks:
            running = [
                tasks.create_task(diagnose(judge, base_url=url, tell=progress_of(url), **options)) for url in base_urls
            ]
    except* ConfigError as errors:
        raise errors.exceptions[0] from None
    found = dict(zip(shown, (task.result() for task in running), strict=True))
    return compare_servers(name_without_password(judge), found)


def compare_servers(judge: str, found: Mapping[str, Diagnosis]) -> Servers:
    """Return the doctor's verdict on all servers of a judge together. Pure."""
    fit = {url: one for url, one in found.items() if one.verdict != "unfit"}
    seconds = max(one.seconds for one in found.values())
    if not fit:
        url, one = next(iter(found.items()))
        same = len({one.reason for one in found.values()}) == 1
        reason = one.reason if same else f"none of {len(found)} servers is fit; {url}: {one.reason}"
        return Servers(judge, found, server_differences(found), "unfit", reason, {}, seconds)
    settings = _together(fit)
    left_out = [f"leave out {url}: {one.reason}" for url, one in found.items() if one.verdict == "unfit"]
    asked_for = [one.reason for one in fit.values() if one.verdict == "fit with these settings"]
    if left_out or asked_for:
        reason = "; ".join(dict.fromkeys([*left_out, *asked_for]))
        return Servers(judge, found, server_differences(found), "fit with these settings", reason, settings, seconds)
    reason = f"all {len(fit)} servers: {next(iter(fit.values())).reason}"
    return Servers(judge, found, server_differences(found), "fit", reason, settings, seconds)


def server_differences(found: Mapping[str, Diagnosis]) -> tuple[str, ...]:
    """Return a sentence for each check of the doctor whose result differs between the judge's servers."""
    by_name: dict[str, dict[str, Any]] = {}
    for url, one in found.items():
        for check in one.checks:
            by_name.setdefault(check.name, {})[url] = check
    found_different = []
    for name, checks in by_name.items():
        facts = {url: _fact(name, check) for url, check in checks.items()}
        slow = name == "latency" and _apart([check.figures.get("median_s") for check in checks.values()])
        if slow or len(set(facts.values())) > 1:
            found_different.append(f"{name}: " + "; ".join(f"{url}: {check.says}" for url, check in checks.items()))
    return tuple(found_different)


def _fact(name: str, check: Any) -> tuple[str, str]:
    return check.standing, repr(check.figures.get(_FACTS[name])) if name in _FACTS else ""


def _apart(seconds: Sequence[float | None]) -> bool:
    known = [one for one in seconds if one]
    return len(known) > 1 and max(known) > max(_TIMES_SLOWER * min(known), min(known) + _SECONDS_SLOWER)


def _together(fit: Mapping[str, Diagnosis]) -> dict[str, Any]:
    """Merge the settings of the servers that passed the examination: list their base URLs, and take the largest of
    each numeric setting.
    """
    settings: dict[str, Any] = {}
    for one in fit.values():
        for key, value in one.settings.items():
            before = settings.get(key)
            bigger = isinstance(before, int | float) and isinstance(value, int | float)
            settings[key] = max(before, value) if bigger else value if before is None else before
    if all("concurrency" in one.settings for one in fit.values()):  # it is for all servers together
        settings["concurrency"] = sum(one.settings["concurrency"] for one in fit.values())
    else:
        settings.pop("concurrency", None)
    settings["base-url"] = list(fit) if len(fit) > 1 else next(iter(fit))
    windows = [_window(one) for one in fit.values()]
    known = [tokens for tokens in windows if tokens is not None]
    if len(set(windows)) > 1 and known:
        settings["context-window"] = min(known)
    return settings


def _window(one: Diagnosis) -> int | None:
    check = next((check for check in one.checks if check.name == "context window"), None)
    return None if check is None else check.figures.get("tokens")
