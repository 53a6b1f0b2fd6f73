"""A key that a server shows again is found in every usual spelling."""

import json
from base64 import b64encode
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from calipers.backends.transport.secrets import secrets_in, without_secrets

KEY = "Zk9/unguess+able=key&more"
SECRETS = [form.encode() for form in secrets_in({"Authorization": f"Bearer {KEY}", "content-type": "application/json"})]


def test_an_echo_is_removed_in_any_spelling() -> None:
    echoes = [
        KEY,
        f"Bearer {KEY}",
        quote(KEY, safe=""),
        json.dumps(KEY).replace("/", "\\/"),
        KEY.replace("+", "\\u002B").replace("&", "\\u0026"),
        "".join(f"\\u{ord(sign):04x}" for sign in KEY),
        "\\\\" + "".join(f"\\u{ord(sign):04X}" for sign in KEY),
    ]
    for echo in echoes:
        left = without_secrets(f'{{"model": "m-{echo}"}}'.encode(), SECRETS).decode()
        assert "[key]" in left
        assert "unguess" not in left


@given(st.text(st.sampled_from('\\"u0041Z/'), max_size=40), st.text("bcdefgh", min_size=8, max_size=12))
def test_taking_a_key_out_of_escapes_changes_nothing_else(text: str, key: str) -> None:
    escaped = "".join(f"\\u{ord(sign):04x}" for sign in key)
    data = f'{{"a": {json.dumps(text)}, "b": "{escaped}"}}'.encode()
    assert json.loads(without_secrets(data, [key.encode()])) == {"a": text, "b": "[key]"}


def test_an_answer_without_a_key_is_the_same_object() -> None:
    data = b'{"choices": []}' * 100
    assert without_secrets(data, SECRETS) is data


def test_user_and_password_of_an_address_are_secrets() -> None:
    header = b64encode(b"someone:open sesame").decode()
    secrets = secrets_in({"authorization": f"Basic {header}"})
    assert {"open sesame", "someone:open sesame", header} <= set(secrets)


def test_what_stands_where_no_key_is_wanted_stays_a_word_of_the_reply() -> None:
    for key in ["", "m", "EMPTY", "none", "token", "dummy", "not-needed", "PASSWORD", "sk-no-key-required"]:
        headers = {"authorization": f"Bearer {key}"}
        reply = f'{{"scores": {{"A": 7}}, "why": "the answer is {key}, EMPTY or none, and lists a token"}}'.encode()
        assert (
            without_secrets(reply, [form.encode() for form in secrets_in(headers) if form != f"Bearer {key}"]) == reply
        )


def test_what_is_no_credential_is_not_removed_from_answers() -> None:
    """A header that says whose request it is holds words that judges use, too."""
    assert secrets_in({"x-team": "blue", "openai-project": "score"}) == ()
    assert "a1b2c3d4e5f6a7b8" in secrets_in({"x-team": "a1b2c3d4e5f6a7b8"})
    assert "blue4711" in secrets_in({"X-Gateway-Key": "blue4711"})
