"""A model file of one megabyte with random weights, for llama.cpp's real server.

Random weights emit whatever a grammar permits: the adversarial bound for structured output. Everything is seeded, and
the tokenizer is trained on text made here, so the file is the same byte for byte from build to build.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np

_VOCABULARY = 1024
_EMBEDDING, _HIDDEN, _LAYERS, _HEADS, _KV_HEADS, _HEAD = 64, 256, 2, 4, 2, 16
_SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")
_END_OF_TEXT, _END_OF_TURN = 0, 2
_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

THINKING_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['reasoning_content'] %}<think>\n{{ message['reasoning_content'] }}\n</think>\n{% endif %}"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
)
"""The prompt ends inside a thought, so the server returns reasoning and answer apart."""

DECISION_TEMPLATE = "{{ state }}\n\n{{ instructions }}\n{{ options | tojson }}\nAnswer:"
"""What a question at a decision endpoint looks like to the model."""

_PROSE = """
The agent looked up the order before it answered, found that the parcel had left the warehouse, and told the customer
when to expect it. A second attempt guessed a date without asking any tool. The third apologised three times, repeated
itself and stopped in the middle of a sentence. Which of them helped more? The first one names its source, stays within
the policy and ends with a clear next step; the others leave the customer with a claim that nobody has checked.
When two attempts reach the same result, the shorter path is better, unless it skipped a confirmation that was \
asked for.
A refusal is right where the request breaks a rule, and wrong where it only looks as if it did. \
Scores are whole numbers.
"""


def _training_text() -> list[str]:
    """Verdicts, so that JSON's marks and numbers become tokens; label words, so that each is a single one; prose."""
    rng = random.Random(7)
    verdicts = []
    for _ in range(3000):
        keys = ["".join(rng.choices("BCDFGHJKLMNPQRSTVWXZ", k=2)) for _ in range(rng.randint(1, 5))]
        verdict = {
            "explanations": dict.fromkeys(keys, "is better"),
            "scores": {key: rng.randint(0, 100) for key in keys},
        }
        verdicts.append(json.dumps(verdict, separators=rng.choice([(",", ":"), (", ", ": ")])))
    labels = ["Yes\nNo\nYES\nNO\ntrue\nfalse\n"] * 2000
    return [*verdicts, *labels, *([_PROSE] * 50)]


def tokenizer() -> Any:
    """The trained byte-level tokenizer, of the package ``tokenizers``."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: PLC0415 - heavy tests only

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_VOCABULARY,
        special_tokens=list(_SPECIALS),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    made.train_from_iterator(_training_text(), trainer)
    return made


def _vocabulary() -> tuple[list[str], list[str]]:
    """The vocabulary in id order and the merges, each as two pieces with a space between."""
    trained = json.loads(tokenizer().to_str())["model"]
    tokens = sorted(trained["vocab"], key=trained["vocab"].__getitem__)
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in trained["merges"]]
    return tokens, merges


def _tensors(vocabulary: int) -> dict[str, np.ndarray[Any, np.dtype[np.float32]]]:
    rng = np.random.default_rng(1234)

    def normal(std: float, *shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
        return rng.normal(0.0, std, shape).astype(np.float32)

    def ones() -> np.ndarray[Any, np.dtype[np.float32]]:
        return np.ones(_EMBEDDING, dtype=np.float32)

    tensors = {"token_embd.weight": normal(1.0, vocabulary, _EMBEDDING), "output_norm.weight": ones()}
    # Logits that spread by about 1.2: at temperature 1 everything a grammar permits is tried.
    tensors["output.weight"] = normal(0.15, vocabulary, _EMBEDDING)
    for layer in range(_LAYERS):
        shapes = {
            "attn_q": (_EMBEDDING, _EMBEDDING),
            "attn_k": (_KV_HEADS * _HEAD, _EMBEDDING),
            "attn_v": (_KV_HEADS * _HEAD, _EMBEDDING),
            "attn_output": (_EMBEDDING, _EMBEDDING),
            "ffn_gate": (_HIDDEN, _EMBEDDING),
            "ffn_up": (_HIDDEN, _EMBEDDING),
            "ffn_down": (_EMBEDDING, _HIDDEN),
        }
        tensors |= {f"blk.{layer}.{name}.weight": ones() for name in ("attn_norm", "ffn_norm")}
        tensors |= {f"blk.{layer}.{name}.weight": normal(0.2, *shape) for name, shape in shapes.items()}
    return tensors


def build(path: Path, *, decides: bool = False) -> Path:
    """Write the model file; needs ``gguf`` and ``tokenizers``. About a second.

    With ``decides`` it answers at ``/v1/systemone``, too.
    """
    import gguf  # noqa: PLC0415 - heavy tests only

    tokens, merges = _vocabulary()
    kinds = [_CONTROL] * 3 + [_USER_DEFINED] * 2 + [_NORMAL] * (len(tokens) - len(_SPECIALS))
    writer = gguf.GGUFWriter(str(path), "llama")
    metadata: dict[str, Any] = {
        "name": "calipers tiny random", "file_type": 0, "context_length": 8192, "embedding_length": _EMBEDDING,
        "block_count": _LAYERS, "feed_forward_length": _HIDDEN, "head_count": _HEADS, "head_count_kv": _KV_HEADS,
        "layer_norm_rms_eps": 1e-5, "rope_dimension_count": _HEAD, "rope_freq_base": 10000.0,
        "vocab_size": len(tokens), "tokenizer_model": "gpt2", "tokenizer_pre": "gpt-2", "token_list": tokens,
        "token_merges": merges, "token_types": kinds, "bos_token_id": _END_OF_TEXT, "eos_token_id": _END_OF_TURN,
        "pad_token_id": _END_OF_TEXT, "add_bos_token": False, "chat_template": CHAT_TEMPLATE,
    }  # fmt: skip
    for name, value in metadata.items():
        getattr(writer, f"add_{name}")(value)
    if decides:
        writer.add_string("llama.decision.type", "lfm2-d1")
        writer.add_string("tokenizer.chat_template.systemone", DECISION_TEMPLATE)
    for name, tensor in _tensors(len(tokens)).items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
