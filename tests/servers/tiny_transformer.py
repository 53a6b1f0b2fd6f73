"""A folder with a transformers model of random weights, for ``transformers serve``: the tokenizer is
``tiny_gguf``'s.
"""

from __future__ import annotations

from pathlib import Path

from servers.tiny_gguf import CHAT_TEMPLATE, tokenizer

_CONTEXT = 4096


def build(folder: Path) -> Path:
    """Write model and tokenizer; needs ``torch``, ``transformers`` and ``tokenizers``."""
    import torch  # noqa: PLC0415 - an environment of its own
    import transformers  # noqa: PLC0415 - likewise

    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer(),
        bos_token="<|endoftext|>",  # noqa: S106 - a token of the tokenizer
        eos_token="<|im_end|>",  # noqa: S106 - likewise
        pad_token="<|endoftext|>",  # noqa: S106 - likewise
        model_max_length=_CONTEXT,
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = CHAT_TEMPLATE
    fast.save_pretrained(folder)
    torch.manual_seed(1234)
    config = transformers.LlamaConfig(
        vocab_size=len(fast),
        hidden_size=64,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=_CONTEXT,
        initializer_range=0.2,
        tie_word_embeddings=False,
        bos_token_id=0,
        eos_token_id=2,
        pad_token_id=0,
    )
    model = transformers.LlamaForCausalLM(config)
    model.generation_config.do_sample = True
    model.save_pretrained(folder)
    return folder
