"""Policies of random weights, made on the spot for trainers' own runs: one layer, and a token for each word.

Import it only where torch and transformers are installed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM


def tokenizer_of(words: Iterable[str], template: str | None = None, *, end: str = "<eos>") -> Any:
    """A tokenizer that knows these words, and ``end``, which ends a text, as its first token."""
    known = dict.fromkeys((end, "<pad>", "<unk>", *words))
    split = Tokenizer(models.WordLevel({word: place for place, word in enumerate(known)}, "<unk>"))
    split.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = {"eos_token": end, "pad_token": "<pad>", "unk_token": "<unk>"}
    inputs = ["input_ids", "attention_mask"]  # older transformers add token types, which the model has no use for
    return PreTrainedTokenizerFast(tokenizer_object=split, chat_template=template, model_input_names=inputs, **special)


def policy_of(tokenizer: Any, *, width: int = 16) -> Any:
    """A policy that speaks the words of the tokenizer."""
    torch.manual_seed(0)
    sizes = {"hidden_size": width, "intermediate_size": width, "num_hidden_layers": 1, "max_position_embeddings": 512}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 2}
    tokens = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    model = Qwen2ForCausalLM(Qwen2Config(**sizes, **heads, **tokens, vocab_size=len(tokenizer)))
    model.config._name_or_path = "tiny"
    return model
