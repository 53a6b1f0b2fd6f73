"""Files and foreign trajectories to groups.

``canonical`` reads message lists of any API, ``as_trajectory`` and ``as_group`` what holds them, ``read_groups`` files.
Nothing is judged, rendered or merged here, no foreign library is imported (pyarrow where a Parquet file is read), and
loading runs nothing.
"""

from __future__ import annotations

from calipers.readers.files import read_groups
from calipers.readers.groups import as_group, as_trajectory
from calipers.readers.messages import canonical

__all__ = ["as_group", "as_trajectory", "canonical", "read_groups"]
