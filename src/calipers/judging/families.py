"""Recognises model families: a judge of the policy's own family is refused, because models favour their own kind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import Any, Final

from calipers.backends.names import name_without_password, split_judge_name
from calipers.errors import ConfigError
from calipers.interfaces import Backend

_WORD: Final = re.compile(r"[a-z]+[0-9]*")
_REMEDY: Final = "choose another judge, or allow it with panel={'own_family': True} (--own-family)"


def families_of_model(model: str) -> frozenset[str]:
    """Return the model families in a model's name, so that judging avoids a judge of the policy's own family.

    A distilled model may have two families, an unknown model none.
    """
    table = _family_table()
    same: dict[str, str] = table["models"]
    words = [
        word for word in _WORD.findall(split_judge_name(model)[0].lower()) if word != "llamacpp"
    ]  # the name of a server, not of a model family
    found = {name for name in (*table["families"], *same) for word in words if word.startswith(name)}
    return frozenset(same.get(name, name) for name in found)


@lru_cache(maxsize=1)
def _family_table() -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - only where a policy is named

    return tomllib.loads(resources.files(__package__).joinpath("families.toml").read_text("utf-8"))


def require_other_family(policy: str | None, judges: Sequence[str | Backend], *, allowed: bool) -> None:
    """Before judging, raise ConfigError if a judge is the ``policy`` or of its model family, unless ``allowed``."""
    if policy is None or allowed:
        return
    for judge in judges:
        name = name_without_password(judge) if isinstance(judge, str) else judge.model
        if shared := families_of_model(policy) & families_of_model(name):
            raise ConfigError(
                f"{name} and the policy {policy} are both of the {min(shared)} family, and models favour their own "
                f"kind: {_REMEDY}"
            )
        if _bare_name(policy) == _bare_name(name):
            raise ConfigError(f"{name} has the same name as the policy {policy}, and would judge itself: {_REMEDY}")


def _bare_name(model: str) -> str:
    """Return a model's own name, without its provider or maker."""
    return split_judge_name(model)[0].rstrip("/").rpartition("/")[2].lower()
