"""The request settings that judges of a calibration were asked with, as lines of TOML for a run that asks so again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from calipers.calibration.records import Key
from calipers.config.settings import Settings


@dataclass(frozen=True, slots=True)
class Asked:
    """How a calibration asked a judge, as far as its answers do not say it: settings of ``Judge`` by flat names."""

    params: Mapping[str, Any] = field(default_factory=dict)
    expected: bool = False
    price: Sequence[float] | None = None

    @classmethod
    def of(cls, settings: Settings) -> Asked:
        """Return what a calibration's judge with these ``settings`` was asked with."""
        price = settings.calls.price
        return cls(
            dict(settings.calls.params or {}),
            settings.question.expected,
            None if isinstance(price, Mapping) else price,
        )


def request_lines(keys: Sequence[Key], asked: Mapping[Key, Asked], names: Mapping[str, str]) -> list[str]:
    """Return lines of TOML that ask the judges of a way as calibration did.

    ``asked`` lacks judges whose answers were recorded earlier; ``names`` are the judges' names in comments.
    """
    known = [asked[key] for key in keys if key in asked]
    return [
        *_unknown(keys, asked, names),
        *_param(keys, known, names),
        *(["expected = true"] if any(one.expected for one in known) else []),
        *_price(keys, known),
    ]


def _unknown(keys: Sequence[Key], asked: Mapping[Key, Asked], names: Mapping[str, str]) -> list[str]:
    """Return a comment on the judges whose recorded answers do not say how they were asked."""
    judges = [" ".join(names.get(key.judge, key.judge).split()) for key in keys if key not in asked]
    if not judges:
        return []
    told = "recorded answers do not say with which request settings the judge was asked"
    return [f"# {', '.join(judges)}: {told}.", "# Set param and expected as they were then."]


def _param(keys: Sequence[Key], known: Sequence[Asked], names: Mapping[str, str]) -> list[str]:
    """Return the request parameters of a way's judges, with a comment on those in which the judges differ."""
    every = {name: value for one in known for name, value in one.params.items()}
    params = {name: value for name, value in every.items() if _same(one.params.get(name) for one in known)}
    lines = [f"# The judges were asked with different values of {_text(name)}." for name in every if name not in params]
    temperatures = {key.temperature for key in keys}
    if len(temperatures) > 1:
        params.pop("temperature", None)
        lines += [f"# {_temperature(key, names)}: a run has one temperature for all judges." for key in keys]
    elif (own := temperatures.pop()) is not None and params.get("temperature") != own:
        params["temperature"] = int(own) if own.is_integer() else own
    texts = [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in params.items()]
    return [*lines, f"param = [{', '.join(map(_text, texts))}]"] if texts else lines


def _temperature(key: Key, names: Mapping[str, str]) -> str:
    at = "without a temperature" if key.temperature is None else f"at temperature {key.temperature:g}"
    return f"{' '.join(names.get(key.judge, key.judge).split())}: measured {at}"


def _price(keys: Sequence[Key], known: Sequence[Asked]) -> list[str]:
    """Return the price of a single judge; in settings files, a panel has none."""
    if len(keys) > 1 or not known or known[0].price is None:
        return []
    return [f'price = "{",".join(f"{amount:.15g}" for amount in known[0].price)}"']


def _same(values: Iterable[Any]) -> bool:
    first, *others = values
    return all(one == first for one in others)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
