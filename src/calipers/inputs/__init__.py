"""Read groups from files, trajectories from other libraries' objects, and rubrics from files.

``canonical`` reads message lists of any API, ``as_trajectory`` and ``as_group`` read the objects that hold such lists,
``read_groups`` reads files of groups, ``read_rubric`` a rubric that people wrote, and ``read_rubrics`` data sets with a
rubric in each row. Not responsible for judging or rendering. No foreign library is imported (except pyarrow for a
Parquet file), and reading executes nothing.
"""

from __future__ import annotations

from calipers.inputs.files import read_groups
from calipers.inputs.groups import as_group, as_trajectory, group_in_steps
from calipers.inputs.messages import canonical
from calipers.inputs.rubric_rows import RubricRow, as_rubric_row, read_rubrics
from calipers.inputs.rubrics import read_rubric

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
