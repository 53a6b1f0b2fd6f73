"""An option of a command that the environment can set, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def setting(*names: str, **attributes: Any) -> Callable[[F], F]:
    """An option that can also be set as CALIPERS_NAME in the environment."""
    variable = "CALIPERS_" + names[-1].removeprefix("--").replace("-", "_").upper()
    return click.option(*names, envvar=variable, **attributes)
