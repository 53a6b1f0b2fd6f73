"""Putting a rendered group's head and chosen candidates together. Not responsible for instructions around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from calipers.render.transcript import word
from calipers.types import Image, Part, RenderedGroup


def compose(view: RenderedGroup, order: Sequence[int], keys: Sequence[str]) -> tuple[Part, ...]:
    """The head, then the candidates at positions ``order``, each under its opaque key; adjacent texts are one part.

    ``keys`` are distinct and as many as ``order``; ValueError otherwise.
    """
    if len(set(keys)) != len(keys):
        raise ValueError(f"candidate keys repeat: {list(keys)}")
    parts: list[Part] = list(view.head)
    for position, key in zip(order, keys, strict=True):
        shown = word(key)
        parts += [f"{view.marker} candidate {shown}\n", *view.candidates[position].body, f"{view.marker} end {shown}\n"]
    return merged(parts)


def merged(parts: Iterable[Part]) -> tuple[Part, ...]:
    """``parts`` with adjacent texts joined and empty ones left out."""
    joined: list[Part] = []
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        joined += [text for text in ("".join(texts),) if text]
        joined.append(part)
        texts.clear()
    return (*joined, *(text for text in ("".join(texts),) if text))


def characters(parts: Iterable[Part]) -> int:
    """How many characters of text ``parts`` hold; images count nothing."""
    return sum(len(part) for part in parts if not isinstance(part, Image))
