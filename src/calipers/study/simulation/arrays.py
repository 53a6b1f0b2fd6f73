"""The arrays of a simulation, and the axes that all its modules agree on.

Axis names: S runs (one for each seed), B groups of a step (one prompt each), G responses of a group.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Flags: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
Integers: TypeAlias = np.ndarray[tuple[int, ...], np.dtype[np.intp]]
