"""A key that a server shows again is found in every usual spelling."""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from html import escape
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.backends.transport.secrets import secret_spellings, secrets_in, text_without_secrets, without_secrets

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
        re.sub("%..", lambda found: found[0].lower(), quote(KEY, safe="")),
        escape(KEY),
        KEY.encode().hex(),
        KEY.encode().hex().upper(),
        KEY[::-1],
        b64encode(KEY.encode()).decode(),
        urlsafe_b64encode(f"Bearer {KEY}".encode()).decode(),
        b64encode(f"x{KEY}, and more".encode()).decode(),
        b64encode(f"xy{KEY}".encode()).decode(),
    ]
    for echo in echoes:
        left = without_secrets(f'{{"model": "m-{echo}"}}'.encode(), SECRETS).decode()
        assert "[key]" in left
        assert "unguess" not in left
        assert b64encode(b"unguess").decode().rstrip("=")[1:-1] not in left


@given(st.binary(max_size=12), st.binary(max_size=12), st.text("abcdefghijklmnop0123456789", min_size=16, max_size=40))
def test_base64_of_anything_around_a_key_holds_no_three_characters_of_it(before: bytes, after: bytes, key: str) -> None:
    whole = b64encode(before + key.encode() + after)
    left = without_secrets(whole, [form.encode() for form in secret_spellings([key])])
    assert left != whole
    assert len(left) - len("[key]") <= len(whole) - (len(key) - 2) * 8 // 6 + 2


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


def test_a_key_of_eight_characters_is_removed_and_a_shorter_one_could_be_a_word() -> None:
    assert "abcd4567" in secrets_in({"authorization": "abcd4567"})
    assert secrets_in({"authorization": "abcd456"}) == ()


def test_a_header_that_names_no_credential_is_a_secret_from_sixteen_characters_on() -> None:
    assert "f00dfeed12345678" in secrets_in({"x-team": "f00dfeed12345678"})
    assert secrets_in({"x-team": "f00dfeed1234567"}) == ()
    assert secrets_in({"x-team": "blue and green, in this order"}) == ()


def test_headers_that_every_request_has_are_no_secrets_however_they_are_written() -> None:
    for name in ["Content-Type", "User-Agent", "ANTHROPIC-VERSION", "user-agent"]:
        assert secrets_in({name: "a1b2c3d4e5f6a7b8c9"}) == ()


def test_a_header_named_for_a_credential_is_a_secret_though_it_is_short_or_has_spaces() -> None:
    for name in [
        "Authorization",
        "X-Api-Key",
        "x-TOKEN",
        "Client-SECRET",
        "Cookie",
        "x-password",
        "x-credential",
        "X-Session-Id",
        "x-amz-signature",
    ]:
        assert {"ef gh89 ijkl8901", "ijkl8901", "ab ef gh89 ijkl8901"} <= set(secrets_in({name: "ab ef gh89 ijkl8901"}))


def test_what_follows_the_first_space_and_the_last_is_a_secret_of_its_own() -> None:
    found = secrets_in({"Authorization": "Digest realmrealm otherother"})
    assert {"Digest realmrealm otherother", "realmrealm otherother", "otherother"} <= set(found)
    assert "Digest" not in found


def test_every_spelling_is_listed_longest_first_and_once() -> None:
    key = "Ab+/=&<'\"x~zz"
    data = key.encode()
    forms = {key, key[::-1], data.hex(), data.hex().upper(), escape(key), key.replace("/", "\\/")}
    quoted = quote(key, safe="")
    forms |= {quoted, re.sub("%..", lambda found: found[0].lower(), quoted)}
    forms.add("".join(f"\\u{ord(sign):04X}" if sign in "+&<>'\"" else sign for sign in key))
    for before in range(3):
        bits = "".join(f"{byte:08b}" for byte in b"\0" * before + data)
        # Only characters whose six bits all belong to the key are the same whatever stands around it.
        first, last = -(-before * 8 // 6), len(bits) // 6
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        inner = "".join(alphabet[int(bits[place * 6 : place * 6 + 6], 2)] for place in range(first, last))
        forms |= {inner, inner.replace("+", "-").replace("/", "_"), inner.replace("/", "\\/")}
    found = secret_spellings([key])
    assert set(found) == forms
    assert list(found) == sorted(forms, key=lambda form: (-len(form), form))


@pytest.mark.parametrize(
    ("encoded", "found"),
    [
        (b64encode(b"someone:open sesame").decode(), {"someone:open sesame", "open sesame"}),
        (b64encode(b"someone:with:colons").decode(), {"someone:with:colons", "with:colons"}),
        (b64encode(b"no colon at all").decode(), {"no colon at all"}),
        ("c29tZW9uZTpvcGVu IHNlc2FtZQ==", {"someone:open sesame", "open sesame"}),
        (b64encode(b"\xff\xfe is no text").decode(), set()),
        ("not base64 at all!", set()),
    ],
)
def test_only_a_basic_header_holds_user_and_password(encoded: str, found: set[str]) -> None:
    scheme = "BASIC"
    secrets = set(secrets_in({"authorization": f"{scheme} {encoded}"}))
    assert found <= secrets
    plain = set(secret_spellings({f"{scheme} {encoded}", encoded, encoded.rpartition(" ")[2]}))
    assert secrets - plain == set(secret_spellings(found)) - plain
    other = set(secrets_in({"authorization": f"Bearer {encoded}"}))
    assert not found & other


def test_text_and_bytes_lose_every_secret_everywhere() -> None:
    secrets = ["longer-secret-of-all", "secret-of-one"]
    text = "secret-of-one, longer-secret-of-all and secret-of-one; a secret"
    clean = "[key], [key] and [key]; a secret"
    assert text_without_secrets(text, secrets) == clean
    assert without_secrets(text.encode(), [one.encode() for one in secrets]) == clean.encode()
    assert text_without_secrets(text, []) is text
    assert text_without_secrets("nothing here", secrets) == "nothing here"


def test_escapes_are_undone_only_where_a_secret_is_behind_them() -> None:
    escaped = b'"\\u0073ecret-\\u006ff-one", "\\u0041"'
    assert without_secrets(escaped, [b"secret-of-one"]) == b'"[key]", "A"'
    assert without_secrets(escaped, [b"secret-of-two"]) is escaped
    assert without_secrets(escaped, []) is escaped
    kept = b'"\\u0073ecret-of-one \\u0022 \\u005c \\u007f \\u001f \\\\u0041"'
    assert without_secrets(kept, [b"secret-of-one"]) == b'"[key] \\u0022 \\u005c \\u007f \\u001f \\\\u0041"'
