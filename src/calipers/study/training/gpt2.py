"""The policy as a model of transformers, with its tokenizer, for trainers that want these. Needs transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import torch

from calipers.study.training.policy import Parameters
from calipers.study.training.settings import Size
from calipers.study.training.task import BEGIN, END, PAD, PROMPT_LENGTH, RESPONSE_LENGTH, TEXTS

_LAYER: Final = {
    "norm1": "ln_1.weight",
    "norm1.bias": "ln_1.bias",
    "attend": "attn.c_attn.weight",
    "attend.bias": "attn.c_attn.bias",
    "attended": "attn.c_proj.weight",
    "attended.bias": "attn.c_proj.bias",
    "norm2": "ln_2.weight",
    "norm2.bias": "ln_2.bias",
    "expand": "mlp.c_fc.weight",
    "expand.bias": "mlp.c_fc.bias",
    "contract": "mlp.c_proj.weight",
    "contract.bias": "mlp.c_proj.bias",
}


def _names(size: Size) -> dict[str, str]:
    """Return GPT-2's name of each of the policy's parameters but ``logits``, which is transposed."""
    own = {"tokens": "transformer.wte.weight", "places": "transformer.wpe.weight"}
    own |= {"norm": "transformer.ln_f.weight", "norm.bias": "transformer.ln_f.bias"}
    for layer in range(size.layers):
        own |= {f"{layer}.{name}": f"transformer.h.{layer}.{other}" for name, other in _LAYER.items()}
    return own


def as_gpt2(parameters: Parameters, size: Size) -> Any:
    """Return the policy as a GPT2LMHeadModel with the same logits, up to rounding."""
    from transformers import GPT2Config, GPT2LMHeadModel  # noqa: PLC0415 - heavy, and an extra

    config = GPT2Config(
        vocab_size=len(TEXTS),
        n_positions=PROMPT_LENGTH + RESPONSE_LENGTH,
        n_embd=size.width,
        n_layer=size.layers,
        n_head=size.heads,
        n_inner=size.hidden,
        activation_function="gelu_new",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=BEGIN,
        eos_token_id=END,
        pad_token_id=PAD,
        tie_word_embeddings=False,
    )
    model = GPT2LMHeadModel(config)
    found = {other: parameters[name] for name, other in _names(size).items()}
    model.load_state_dict({**found, "lm_head.weight": parameters["logits"].T.contiguous()})
    return model


def save_gpt2(parameters: Parameters, size: Size, folder: Path) -> Any:
    """Return the policy as ``as_gpt2`` does, saved in ``folder`` with its tokenizer: TRL loads its reference there."""
    model = as_gpt2(parameters, size)
    model.save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    model.config._name_or_path = str(folder)  # noqa: SLF001 - where TRL looks
    return model


def parameters_of(model: Any, size: Size) -> Parameters:
    """Return the parameters of the policy that ``as_gpt2`` made a model of, on the CPU."""
    state = model.state_dict()
    found = {name: state[other] for name, other in _names(size).items()}
    found["logits"] = state["lm_head.weight"].T
    return {name: value.detach().to("cpu", torch.float32) for name, value in found.items()}


def tokenizer() -> Any:
    """Return the task's tokenizer for transformers: a text of the task becomes its tokens, and tokens their text."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers  # noqa: PLC0415 - heavy, an extra
    from transformers import PreTrainedTokenizerFast  # noqa: PLC0415 - likewise

    names = {PAD: "<pad>", END: "<end>"}
    words = [names.get(number, text) for number, text in enumerate(TEXTS)]
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, "<pad>"))
    # No text of the task contains another one but digits, which stand alone: longer texts are matched first.
    pattern = "|".join(_escaped(word) for word in sorted(words, key=len, reverse=True))
    made.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",  # noqa: S106 - a token of text
        eos_token="<end>",  # noqa: S106 - likewise
        unk_token="<pad>",  # noqa: S106 - likewise
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )


def _escaped(word: str) -> str:
    return "".join(rf"\{letter}" if letter in "().?#!<>" else letter for letter in word)
