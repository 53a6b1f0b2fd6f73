"""calipers.toml and the environment: what they set, what is refused, and which line an error names."""

from pathlib import Path

from command_line import Calipers, mismatches, read_rows

SCORE = ("score", "groups.jsonl", "-o", "out.jsonl")


def test_settings_come_from_flags_then_environment_then_file(folder: Path, calipers: Calipers):
    (folder / "calipers.toml").write_text('judge = "scripted:replies.jsonl"\norders = 2\nport = 1\n[score]\nseed = 5\n')
    ended = calipers("score", "groups.jsonl", "-o", "a.jsonl")
    assert "Settings from calipers.toml (calipers score does not use port)" in ended.err
    calipers("score", "groups.jsonl", "-o", "b.jsonl", CALIPERS_ORDERS="3")
    calipers("score", "groups.jsonl", "-o", "c.jsonl", "--orders", "1", CALIPERS_ORDERS="3")
    assert [read_rows(folder / f"{name}.jsonl")[0]["judge_calls"] for name in "abc"] == [2, 3, 1]
    for flags, variables, words in (
        (("--orders", "two"), {}, "'two' is not a valid whole number"),
        ((), {"CALIPERS_ORDERS": "x"}, "the environment variable CALIPERS_ORDERS"),
    ):
        ended = calipers(*SCORE, *flags, **variables)
        assert (ended.code, words in ended.err, "settings file)" in ended.err) == (2, True, False)
    assert "did you mean CALIPERS_ORDERS?" in calipers(*SCORE, CALIPERS_ORDRES="2").err


def test_an_error_names_the_settings_file_and_the_key(folder: Path, calipers: Calipers):
    cases = {
        'orders = "two"': "'--orders' (from the settings file): 'two' is not a valid whole number",
        "orders = true": "'--orders' (from the settings file): 'true' is not a valid whole number",
        "[score]\norders = 0": "'--orders' (from the settings file): 0 is not in the range",
        "orders = [1, 2]": "'orders' must be one number or text",
        "timeout = nan": "'timeout' must be one number or text",
        'strict = "maybe"': "'strict' must be true or false",
        "[score]\nodrers = 2": "[score] 'odrers': unknown key. Did you mean orders?",
        "zzz = 2": "'zzz': unknown key. calipers COMMAND --help",
        'api-key = "s3cret"': "'api-key': a secret does not belong in this file",
        'log-level = "debug"': "'log-level': write calipers --log-level",
        "score = 3": "[score] must be a table of settings",
        "[score.x]\norders = 3": "'x': unknown key",
        "orders = ": "not valid TOML",
        "judge = embedded": 'write text in quotes, as in judge = "emb',
        f"orders = {'9' * 5000}": "",
        f"a = {'[' * 5000}{']' * 5000}": "",
        "orders = 1e400": "",
        "orders = inf": "",
        'rules = "a\\u0000b"': "",
        'judge = ["a\\u0000b"]': "",
        "\udcff\udcfe": "",
    }
    wrong = []
    for content, words in cases.items():
        text = f"\ufeff# settings\n\n{content}\n"
        (folder / "calipers.toml").write_text(text, encoding="utf-8", errors="surrogateescape")
        ended = calipers(*SCORE)
        named = "calipers.toml" in ended.err and "Traceback" not in ended.err
        if ended.code != 2 or not named or words not in ended.err or "s3cret" in ended.err:
            wrong.append((content, words, ended))
    assert wrong == []


def test_a_file_that_nobody_named_sets_no_address_no_file_and_no_request(folder: Path, calipers: Calipers):
    """It may have come with somebody's data: an address in it would receive the user's key."""
    (folder / "mine").write_text("mine\n")
    cases = {
        'base-url = "http://elsewhere/v1"': "base-url",
        'base_url = "http://elsewhere/v1"': "base-url",
        '[score]\nbase-url = ["http://elsewhere/v1"]': "base-url",
        'judge = "openai/m@http://elsewhere/v1"': "judge",
        'judge = ["embedded", "huggingface/https://elsewhere/v1"]': "judge",
        'param = ["api_base=elsewhere"]': "param",
        'header = ["X-Key=1"]': "header",
        'out = "mine"': "out",
        '[score]\nledger = "mine"': "ledger",
        'rubric = "mine"': "rubric",
        "rules = 'mine'": "rules",
        "force = true": "force",
    }
    wrong: list[tuple[object, ...]] = []
    for content, flag in cases.items():
        (folder / "calipers.toml").write_text(content)
        ended = calipers(*SCORE, OPENAI_API_KEY="sk-mine")
        words = (f"{flag!r} may not be set here", "--config calipers.toml")
        if ended.code != 2 or not all(word in ended.err for word in words):
            wrong.append((content, ended))
    (folder / "calipers.toml").write_text('model = "m@http://elsewhere/v1"')
    wrong += mismatches(calipers, [(("generate", *SCORE[1:]), "'model' may not be set here")])
    assert wrong == []
    assert (folder / "mine").read_text() == "mine\n"
    assert not (folder / "out.jsonl").exists()


def test_a_file_that_the_user_named_sets_them(folder: Path, calipers: Calipers):
    (folder / "mine.toml").write_text('judge = "vllm/m"\nbase-url = "http://127.0.0.1:9/v1"\nledger = "runs.db"\n')
    for ended in (calipers("--config", "mine.toml", *SCORE), calipers(*SCORE, CALIPERS_CONFIG="mine.toml")):
        assert "Settings from mine.toml" in ended.err
        assert (ended.code, "127.0.0.1:9" in ended.err) == (2, True)
