"""Parameters in the URLs of engines, which can say nothing else to the server."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from calipers.server.operations import Parameter

NAME: Final[Any] = Annotated[str, msgspec.Meta(max_length=128, pattern="^[A-Za-z0-9._-]*$")]

GROUP_SIZE: Final = Parameter(
    "group_size",
    "The number of rollouts of a prompt. Default: the server's --group-size.",
    Annotated[int, msgspec.Meta(ge=1, le=4096)],
)
RUN: Final = Parameter("run", "The training run: rollouts of two runs are never in one group.", NAME, default="")
