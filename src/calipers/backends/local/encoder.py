"""Scores candidates by a trained cross-encoder, a transformer that reads the task and an answer together.

torch and transformers are imported when a folder with a cross-encoder is opened, and only then. Nothing is downloaded,
no code of the folder runs, and weights are read from safetensors alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from calipers.backends.embedded.evidence import read_evidence, task_text
from calipers.backends.local.features import Array, own_start
from calipers.errors import ConfigError
from calipers.types import Message, RenderedGroup

INSTALL: Final = "a cross-encoder needs torch and transformers: pip install torch transformers safetensors"
_AT_ONCE: Final = 32


class Encoder:
    """A cross-encoder in ``folder``, which reads at most ``longest`` tokens. Raises ConfigError if it cannot be opened.

    It runs on a GPU where there is one.
    """

    def __init__(self, folder: Path, *, longest: int) -> None:
        try:
            import torch  # noqa: PLC0415 - heavy, and optional
            import transformers  # noqa: PLC0415 - likewise
        except ImportError:
            raise ConfigError(f"{INSTALL}, to open {folder}") from None
        self._torch, self._longest = torch, longest
        try:
            kept: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **kept)
            made = transformers.AutoModelForSequenceClassification.from_pretrained(folder, use_safetensors=True, **kept)
        except Exception as error:  # noqa: BLE001 - whatever a damaged folder makes transformers raise
            problem = str(error).splitlines()[0][:150] if str(error) else ""
            raise ConfigError(
                f"{folder}: the cross-encoder cannot be opened ({type(error).__name__}: {problem}); make the judge anew"
            ) from None
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = made.to(self._device).eval()

    def raw(self, texts: Sequence[tuple[str, str]]) -> Array:
        """Return the local judge's sum for each pair of a task and an answer."""
        found: list[float] = []
        for start in range(0, len(texts), _AT_ONCE):
            batch = encoded(self._tokenizer, texts[start : start + _AT_ONCE], self._longest).to(self._device)
            with self._torch.no_grad():
                found += self._model(**batch).logits[:, 0].float().tolist()
        return np.array(found, dtype=np.float64)

    def scores(self, view: RenderedGroup, slope: float) -> list[float]:
        """Return the local judge's score of each candidate of a group, from 0.02 to 0.98."""
        raw = self.raw(texts_of(view))
        copies = np.array([max(1, len(one.members)) for one in view.candidates], dtype=np.float64)
        mean = float((raw * copies).sum() / max(copies.sum(), 1.0))
        return [float(one) for one in np.clip(0.5 + slope * (raw - mean), 0.02, 0.98)]


def encoded(tokenizer: Any, texts: Sequence[tuple[str, str]], longest: int) -> Any:
    """Return a local judge's pairs of a task and an answer as tokens; of a long pair, both are cut at the end."""
    tasks, answers = [task for task, _ in texts], [answer for _, answer in texts]
    return tokenizer(tasks, answers, truncation="longest_first", max_length=longest, padding=True, return_tensors="pt")


def texts_of(view: RenderedGroup) -> list[tuple[str, str]]:
    """Return what a cross-encoder reads of each candidate: the task, and what the candidate did and said."""
    start = own_start(view)
    return [
        (task_text(one.messages[:start], one.messages[start:]), _told(one.messages[start:])) for one in view.candidates
    ]


def _told(messages: Sequence[Message]) -> str:
    """Return the answer, after the tool calls that led to it."""
    evidence = read_evidence(messages)
    calls = [f"[{call.name}({call.arguments[:200]}){' failed' if call.failed else ''}]" for call in evidence.calls[-8:]]
    return "\n".join([evidence.answer, *calls])
