"""Convert Pillow images in the messages of trainers to the data URLs that judges are sent.

Images are recognised by their methods: Pillow is never imported. Not responsible for other parts of a message
(``inputs``).
"""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final

from calipers.errors import InputError

_PNG_MODES: Final = frozenset({"1", "L", "LA", "P", "RGB", "RGBA"})
"""Image modes that PNG can store; others are converted."""


class Images:
    """The images of a batch, each encoded once, however many completions use it."""

    def __init__(self) -> None:
        self._urls: dict[bytes, str] = {}

    def to_urls(self, messages: Any) -> Any:
        """Return a trainer's ``messages`` with data URLs in place of images.

        Anything that is not a list of messages is returned unchanged.

        Raises InputError for an image that cannot be read.
        """
        if not isinstance(messages, list | tuple) or not any(map(_has_images, messages)):
            return messages
        return [self._message(message) if _has_images(message) else message for message in messages]

    def _message(self, message: Mapping[str, Any]) -> dict[str, Any]:
        parts = [
            {"type": "image_url", "image_url": {"url": self._url(part["image"])}} if _is_image(part) else part
            for part in message["content"]
        ]
        return {**message, "content": parts}

    def _url(self, image: Any) -> str:
        try:
            content = f"{image.mode} {image.size} ".encode() + image.tobytes()
            key = blake2b(content, digest_size=16).digest()
            if key not in self._urls:
                self._urls[key] = f"data:image/png;base64,{_png(image)}"
        except (OSError, ValueError) as error:
            raise InputError(f"an image cannot be read: {error}") from error
        return self._urls[key]


def _png(image: Any) -> str:
    written = io.BytesIO()
    (image if image.mode in _PNG_MODES else image.convert("RGB")).save(written, format="PNG")
    return b64encode(written.getvalue()).decode("ascii")


def _has_images(message: Any) -> bool:
    content = message.get("content") if isinstance(message, Mapping) else None
    return isinstance(content, list) and any(map(_is_image, content))


def _is_image(part: Any) -> bool:
    given = part.get("image") if isinstance(part, Mapping) and part.get("type") == "image" else None
    return callable(getattr(given, "tobytes", None)) and callable(getattr(given, "save", None))
