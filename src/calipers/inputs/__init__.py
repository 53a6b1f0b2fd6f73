"""Read groups from files, trajectories from other libraries' objects, and rubrics from files.

``canonical`` reads message lists of any API, ``as_trajectory`` and ``as_group`` read the objects that hold such lists,
``read_groups`` reads files of groups, ``read_rubric`` a rubric that people wrote, and ``read_rubrics`` data sets with a
rubric in each row. No foreign library is imported (except pyarrow for a Parquet file), and reading executes nothing.
What reads files is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calipers.inputs.groups import as_group, as_trajectory, group_in_steps
from calipers.inputs.messages import canonical
from calipers.registry import load_object

if TYPE_CHECKING:
    from calipers.inputs.grouping import read_groups
    from calipers.inputs.rubrics import RubricRow, as_rubric_row, read_rubric, read_rubrics

__all__ = [
    "RubricRow", "as_group", "as_rubric_row", "as_trajectory", "canonical", "group_in_steps", "read_groups",
    "read_rubric", "read_rubrics",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_object(f"calipers.inputs.{'grouping' if name == 'read_groups' else 'rubrics'}:{name}")
