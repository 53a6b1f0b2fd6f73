"""A cross-encoder is trained, written, read back and judges; a tiny one with random weights, made here."""

from __future__ import annotations

from pathlib import Path

import pytest

from calipers.backends.connect import find_backend
from calipers.distilling import Distilled, distill
from calipers.errors import ConfigError
from distilled import group_of, groups_of, recorded_run, rewards_of

torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
transformers = pytest.importorskip("transformers", reason="transformers is not installed: pip install transformers")

pytestmark = [pytest.mark.heavy, pytest.mark.filterwarnings("default")]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of two layers with random weights, whose tokens are letters."""
    folder = tmp_path_factory.mktemp("tiny")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz.,"]
    pieces = [*words, *(f"##{one}" for one in words[5:])]
    (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(vocab={one: place for place, one in enumerate(pieces)})
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    settings = transformers.BertConfig(
        vocab_size=len(pieces), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=256,
    )  # fmt: skip
    transformers.BertModel(settings).save_pretrained(folder, safe_serialization=True)
    return folder


@pytest.fixture(scope="module")
def judge(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Distilled:
    folder = tmp_path_factory.mktemp("encoded")
    ledger = recorded_run(folder / "run.db", groups_of(60))
    return distill(ledger, out=folder / "judge", model=str(tiny))


def test_it_is_written_read_back_and_judges(judge: Distilled) -> None:
    assert judge.figures["agreement"]["teacher"]["groups"] < 30  # a fifth of the prompts
    result = rewards_of(judge.judge, group_of(7))
    assert result.status == "scored"
    assert rewards_of(judge.judge, group_of(7)).rewards == result.rewards
    assert "a cross-encoder of" in (judge.folder / "card.md").read_text(encoding="utf-8")


def test_what_was_trained_is_what_judges(judge: Distilled) -> None:
    backend = find_backend(judge.judge)
    assert {one.name for one in (judge.folder / "encoder").iterdir()} >= {"config.json", "model.safetensors"}
    assert backend.model.startswith("local-1@")


def test_a_changed_file_of_it_is_one_sentence(judge: Distilled) -> None:
    weights = judge.folder / "encoder" / "model.safetensors"
    kept = weights.read_bytes()
    try:
        weights.write_bytes(kept[:-1] + b"x")
        with pytest.raises(ConfigError, match=r"encoder/model.safetensors is not the file that was written"):
            find_backend(judge.judge)
        weights.unlink()
        with pytest.raises(ConfigError, match=r"encoder/model.safetensors is missing"):
            find_backend(judge.judge)
    finally:
        weights.write_bytes(kept)


def test_what_cannot_be_trained_is_one_sentence(judge: Distilled, tmp_path: Path) -> None:
    ledger = judge.folder.parent / "run.db"
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"--model .*empty: cannot be opened") as caught:
        distill(ledger, out=tmp_path / "judge", model=str(tmp_path / "empty"))
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match="leave one of them out"):
        distill(ledger, out=judge.folder, model="any", update=True)
    with pytest.raises(ConfigError, match="is a cross-encoder; distil it anew"):
        distill(ledger, out=judge.folder, update=True)
