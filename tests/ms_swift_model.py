"""A policy of random weights and a data set, made on the spot, for a run of ms-swift's own command."""

from __future__ import annotations

import json
from pathlib import Path

PROMPTS = ("tell a joke", "one joke", "two jokes", "one or two")
_SPECIAL = ("<pad>", "<unk>", "<|im_start|>", "<|im_end|>", "<|endoftext|>", "system", "user", "assistant")


def build(folder: Path) -> None:
    """``folder/model`` and ``folder/data.jsonl``."""
    from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: PLC0415 - they come with ms-swift
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM  # noqa: PLC0415 - likewise

    vocabulary = list(dict.fromkeys((*_SPECIAL, *" ".join(PROMPTS).split(), *(f"w{place}" for place in range(60)))))
    words = Tokenizer(models.WordLevel({word: place for place, word in enumerate(vocabulary)}, "<unk>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"eos_token": "<|im_end|>", "pad_token": "<pad>", "unk_token": "<unk>"}
    PreTrainedTokenizerFast(tokenizer_object=words, **special).save_pretrained(folder / "model")
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "max_position_embeddings": 512}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    tokens = {"vocab_size": len(vocabulary), "eos_token_id": vocabulary.index("<|im_end|>"), "pad_token_id": 0}
    Qwen2ForCausalLM(Qwen2Config(**sizes, **heads, **tokens)).save_pretrained(folder / "model")
    rows = [json.dumps({"messages": [{"role": "user", "content": prompt}]}) for prompt in PROMPTS]
    (folder / "data.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
