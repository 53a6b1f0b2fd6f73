"""PyTorch works in one thread in these tests, as in a run: on a busy machine its threads wait for one another."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("torch"):
    import torch

    torch.set_num_threads(1)
