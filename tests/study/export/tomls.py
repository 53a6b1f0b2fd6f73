"""A study's TOML for tests: two judges that a cluster can ask, and a simulated one that it cannot."""

from __future__ import annotations

STUDY = """\
title = "Two judges"

[judges.gpt]
model = "openai/gpt-5-mini"

[judges.big]
model = "vllm/Some/Judge-32B"
options = { params = { temperature = 0 } }

[judges.noisy]
vices = [{ kind = "Noise", sd = 0.3 }]

[[arms]]
name = "gpt"
judge = "gpt"

[[arms]]
name = "big, no std"
judge = "big"
against = "gpt"
training = { scale = "none" }

[[arms]]
name = "noisy"
judge = "noisy"
"""
SERVED = """
[cluster.serve.big]
tensor_parallel = 2
copies = 2
"""


def study(cluster: str = "", served: str = SERVED) -> str:
    """The study, with lines of its table [cluster]."""
    return f"{STUDY}\n[cluster]\n{cluster}\n{served}"
