"""Trains a cross-encoder on a teacher's scores: a transformer that reads the task and an answer, and gives one number.

The loss is the same as that of the features: pairs of a group, with soft targets, weighted by the precision of the
scores. Common trainers of reward models take hard labels without weights, so the loop is written here. torch and
transformers are imported when it runs. Not responsible for judging with one (``backends.local.encoder``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from calipers.backends.local.encoder import INSTALL, encoded, texts_of
from calipers.backends.local.features import Array
from calipers.distilling.groups import TrainingGroup
from calipers.distilling.pairs import LearnFrom, Pairs, make_pairs
from calipers.distilling.training import Scorer
from calipers.errors import ConfigError, InputError
from calipers.render import render
from calipers.types import RenderedGroup

LONGEST: Final = 512
EPOCHS: Final = 2
_RATE: Final = 2e-5
_LONGEST_STEP: Final = 16
"""How many candidates are in a step, at least those of one group."""


def train_encoder(
    name: str, groups: Sequence[TrainingGroup], learn_from: LearnFrom, folder: Path
) -> tuple[Scorer, dict[str, Any]]:
    """Train the Hugging Face model ``name`` (a folder, or a name to download) on groups, and save it to ``folder``.

    Return what scores a group with it, and its settings for the local judge's file. Raises ConfigError if torch and
    transformers are missing, or if the model cannot be opened.
    """
    torch, tokenizer, model = _opened(name)
    longest = min(LONGEST, _room(model, tokenizer))
    views = [render(one.group) for one in groups if one.group is not None]
    if len(views) < len(groups):
        raise InputError("a cross-encoder learns from texts, and some groups have none")
    pairs = make_pairs(groups, learn_from)
    if not len(pairs.first):
        raise InputError("no two candidates of a group differ in what is to be learned (see --learn-from)")
    texts = [text for view in views for text in texts_of(view)]
    sizes = [len(view.candidates) for view in views]
    _train(torch, tokenizer, model, texts, sizes, pairs, longest)
    model.save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)
    files = {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in sorted(folder.iterdir())}

    def scorer(view: RenderedGroup) -> Array:
        with torch.no_grad():
            batch = encoded(tokenizer, texts_of(view), longest).to(model.device)
            return np.array(model(**batch).logits[:, 0].float().tolist(), dtype=np.float64)

    return scorer, {"files": files, "longest": longest}


def _opened(name: str) -> tuple[Any, Any, Any]:
    """Return torch, and the tokenizer and the model of this name, ready to be trained."""
    try:
        import torch  # noqa: PLC0415 - heavy, and optional
        import transformers  # noqa: PLC0415 - likewise
    except ImportError:
        raise ConfigError(f"--model {name}: {INSTALL}") from None
    kept: dict[str, Any] = {"trust_remote_code": False, "local_files_only": Path(name).is_dir()}
    torch.manual_seed(0)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name, **kept)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            name, num_labels=1, use_safetensors=True, **kept
        )
    except Exception as error:  # noqa: BLE001 - whatever a name or a folder makes transformers raise
        problem = str(error).splitlines()[0][:150] if str(error) else ""
        raise ConfigError(
            f"--model {name}: cannot be opened ({type(error).__name__}: {problem}); name a model of Hugging Face with "
            "safetensors, or a folder that holds one"
        ) from None
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    if model.config.pad_token_id is None:
        model.config.pad_token_id = tokenizer.pad_token_id
    return torch, tokenizer, model.to("cuda" if torch.cuda.is_available() else "cpu")


def _room(model: Any, tokenizer: Any) -> int:
    """Return how many tokens a model reads."""
    known = [getattr(model.config, "max_position_embeddings", None), getattr(tokenizer, "model_max_length", None)]
    return min(one for one in (*known, 10**9) if isinstance(one, int) and one > 0)


def _train(
    torch: Any,
    tokenizer: Any,
    model: Any,
    texts: Sequence[tuple[str, str]],
    sizes: Sequence[int],
    pairs: Pairs,
    longest: int,
) -> None:
    """Train ``model`` on the pairs of all groups, EPOCHS times, in steps of whole groups in a fixed random order."""
    generator, model = np.random.default_rng(0), model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE, weight_decay=0.01)
    starts = np.cumsum([0, *sizes])
    for _ in range(EPOCHS):
        for chosen in _steps(generator.permutation(len(sizes)), sizes):
            places = np.concatenate([np.arange(starts[one], starts[one + 1]) for one in chosen])
            inside = np.isin(pairs.first, places)
            if not inside.any():
                continue
            where = {int(place): row for row, place in enumerate(places)}
            batch = encoded(tokenizer, [texts[place] for place in places], longest).to(model.device)
            logits = model(**batch).logits[:, 0].float()
            first, second = (
                torch.tensor([where[int(one)] for one in each[inside]]) for each in (pairs.first, pairs.second)
            )
            target, weight = (
                torch.tensor(each[inside]).float().to(logits.device) for each in (pairs.targets, pairs.weights)
            )
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                logits[first] - logits[second], target, weight=weight
            )
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    model.eval()


def _steps(order: Sequence[int] | np.ndarray[Any, Any], sizes: Sequence[int]) -> list[list[int]]:
    """Return groups in steps of about _LONGEST_STEP candidates."""
    found: list[list[int]] = [[]]
    for one in order:
        if found[-1] and sum(sizes[each] for each in found[-1]) + sizes[int(one)] > _LONGEST_STEP:
            found.append([])
        found[-1].append(int(one))
    return found
