"""Images in trainers' messages, as a judge is sent them."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import dataclass, field
from typing import Any

import pytest

from calipers.errors import ConfigError, InputError
from calipers.inputs import canonical
from calipers.trainers.rollouts.images import Images
from calipers.trainers.trl import rows as trl_rows
from calipers.trainers.verl.rows import group_fields_of_row


@dataclass
class Picture:
    """As much of a Pillow image as is used; ``encoded`` counts how often it was."""

    pixels: bytes = b"pixels"
    mode: str = "RGB"
    size: tuple[int, int] = (2, 1)
    encoded: list[str] = field(default_factory=list)

    def tobytes(self) -> bytes:
        return self.pixels

    def convert(self, mode: str) -> Picture:
        return Picture(self.pixels, mode, self.size, self.encoded)

    def save(self, file: Any, format: str) -> None:  # noqa: A002 - Pillow's name
        self.encoded.append(f"{format} {self.mode}")
        file.write(b"png of " + self.pixels)


class Broken(Picture):
    def tobytes(self) -> bytes:
        raise OSError("image file is truncated")


def prompt_with(picture: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "image", "image": picture}, {"type": "text", "text": "What is it?"}]}]


def test_an_image_becomes_a_data_url_and_the_rest_stays():
    message = Images().to_urls(prompt_with(Picture()))[0]
    image, text = message["content"]
    assert b64decode(image["image_url"]["url"].removeprefix("data:image/png;base64,")) == b"png of pixels"
    assert text == {"type": "text", "text": "What is it?"}
    assert canonical([message])[0] is message  # a judge's reader has nothing left to do


def test_one_image_before_many_completions_is_encoded_once():
    pictures = [Picture() for _ in range(8)]
    rows = trl_rows.completion_rows([prompt_with(one) for one in pictures], ["a"] * 8, rubrics=None, references=None)
    assert sum(len(one.encoded) for one in pictures) == 1
    assert len({repr(row.prompt) for row in rows}) == 1
    other = prompt_with(Picture(b"other pixels"))
    mixed = trl_rows.completion_rows([prompt_with(Picture()), other], ["a", "b"], rubrics=None, references=None)
    with pytest.raises(ConfigError, match="have different prompts"):
        trl_rows.groups_of_rows(mixed, 2, default_rubric="")


def test_a_mode_that_png_has_not_is_converted():
    picture = Picture(mode="CMYK")
    Images().to_urls(prompt_with(picture))
    assert picture.encoded == ["PNG RGB"]


@pytest.mark.parametrize("messages", ["text", [{"role": "user", "content": "text"}], [("user", "text")], None])
def test_what_holds_no_images_comes_back_as_it_is(messages: Any):
    assert Images().to_urls(messages) is messages


def test_a_broken_image_is_named_by_its_row():
    with pytest.raises(InputError, match="the prompt of row 1: an image cannot be read: image file is truncated"):
        trl_rows.completion_rows([prompt_with(Broken())], ["a"], rubrics=None, references=None)


def test_with_pillow_itself():
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    url = Images().to_urls(prompt_with(image.new("RGB", (3, 2), "red")))[0]["content"][0]["image_url"]["url"]
    assert b64decode(url.partition(",")[2]).startswith(b"\x89PNG")


def test_the_prompt_of_verls_row_is_shown_with_its_images():
    head = group_fields_of_row({"uid": "u1", "raw_prompt": prompt_with(Picture())}, rubric="r", reference=False)
    assert canonical(head["context"])[0]["content"][0]["type"] == "image_url"
