"""JSON answers and their schema."""

from typing import Any

import pytest

from answers import answered
from calipers.errors import ConfigError
from calipers.verifiers import JsonSchema

SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
}
try:
    import jsonschema
except ImportError:
    jsonschema = None


def test_without_the_package_the_remedy_is_named() -> None:
    if jsonschema is not None:
        pytest.skip("jsonschema is installed")
    with pytest.raises(ConfigError, match=r"pip install 'calipers\[verifiers\]'"):
        JsonSchema(SCHEMA)


@pytest.mark.skipif(jsonschema is None, reason="jsonschema is not installed: pip install 'calipers[verifiers]'")
class TestWithJsonschema:
    @pytest.mark.parametrize(("answer", "met", "reason"), [
        ('{"name": "a", "age": 3}', True, ""), ('Sure:\n```json\n{"name": "a"}\n```', True, ""),
        ('{"age": 3}', False, "name"), ('{"name": "a", "age": -1}', False, "$.age"), ("{name: 'a'}", False, "not JSON"),
        ('{"name": "a", "age": NaN}', False, "NaN is not JSON"), ("[" * 100_000, False, "not JSON"),
        ("<think>{}", None, "no answer"),
    ])  # fmt: skip
    def test_an_answer_follows_the_schema_or_not(self, answer: str | None, met: Any, reason: str) -> None:
        found = JsonSchema(SCHEMA)(answered(answer))
        assert found.met is met
        assert reason in found.reason

    def test_nothing_is_fetched(self) -> None:
        found = JsonSchema({"$ref": "http://127.0.0.1:9/schema.json"})(answered("{}"))
        assert found.met is None
        assert "refers to" in found.reason

    def test_what_is_no_schema_is_a_mistake(self) -> None:
        with pytest.raises(ConfigError, match=r"not a JSON schema.*\$\.type"):
            JsonSchema({"type": "text"})
