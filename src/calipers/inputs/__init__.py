"""Read groups from files, trajectories from other libraries' objects, and rubrics from files.

``canonical`` reads message lists of any API, ``as_trajectory`` and ``as_group`` read the objects that hold such lists,
``read_groups`` reads files of groups, ``read_rubric`` a rubric that people wrote, and ``read_rubrics`` data sets with a
rubric in each row. No foreign library is imported (except pyarrow for a Parquet file), and reading executes nothing.
What reads files is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from calipers.inputs.groups import as_group, as_trajectory, group_in_steps
from calipers.inputs.messages import canonical
from calipers.inputs.rubrics import read_rubric
from calipers.registry import load_object

if TYPE_CHECKING:
    from calipers.inputs.files import read_groups
    from calipers.inputs.rubrics import RubricRow, as_rubric_row, read_rubrics

__all__ = [
    "RubricRow",
    "as_group",
    "as_rubric_row",
    "as_trajectory",
    "canonical",
    "group_in_steps",
    "read_groups",
    "read_rubric",
    "read_rubrics",
]

_OF_FILES: Final = {
    "RubricRow": "calipers.inputs.rubrics:RubricRow",
    "as_rubric_row": "calipers.inputs.rubrics:as_rubric_row",
    "read_groups": "calipers.inputs.files:read_groups",
    "read_rubrics": "calipers.inputs.rubrics:read_rubrics",
}


def __getattr__(name: str) -> Any:
    if name not in _OF_FILES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_object(_OF_FILES[name])
