"""The ``json_schema`` verifier: JSON in the final answer, validated by the ``jsonschema`` package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calipers.errors import ConfigError
from calipers.types import Verdict
from calipers.verifiers.answer import AnswerVerifier, last_code_block

_LONGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class JsonSchema(AnswerVerifier):
    """Met if the final answer (its last JSON block, or all of it) is JSON that follows ``schema``.

    References are resolved within the schema only: nothing is fetched. ``pattern`` keywords are searched in this
    process without a time limit, so they must not backtrack without bound. Needs ``calipers[verifiers]``. Raises
    ConfigError if that extra is missing or the schema is invalid.
    """

    schema: Mapping[str, Any] | bool

    def __post_init__(self) -> None:
        try:
            from jsonschema import SchemaError  # noqa: PLC0415 - an extra
            from jsonschema.validators import validator_for  # noqa: PLC0415 - likewise
        except ImportError:
            raise ConfigError("checking JSON schemas needs jsonschema: pip install 'calipers[verifiers]'") from None
        try:
            validator_for(self.schema).check_schema(self.schema)
        except SchemaError as error:
            raise ConfigError(f"schema: not a JSON schema: {error.message} (at {_path(error.absolute_path)})") from None

    def check(self, answer: str) -> Verdict:
        text = last_code_block(answer, ("json", "json5", "jsonc")) or answer
        if len(text) > _LONGEST:
            return Verdict(None, f"the answer is longer than {_LONGEST:,} characters")
        try:
            value = json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            return Verdict(False, f"the answer is not JSON: {error}")
        return self._validated(value)

    def _validated(self, value: Any) -> Verdict:
        from jsonschema.exceptions import best_match  # noqa: PLC0415 - an extra
        from jsonschema.validators import validator_for  # noqa: PLC0415 - likewise
        from referencing import Registry  # noqa: PLC0415 - a part of jsonschema
        from referencing.exceptions import Unresolvable  # noqa: PLC0415 - likewise

        no_references = Registry()  # no remote reference is fetched
        validator = validator_for(self.schema)(self.schema, registry=no_references)
        try:
            error = best_match(validator.iter_errors(value))
        except Unresolvable as missing:
            return Verdict(None, f"the schema refers to {missing.ref!r}, which is not in it")
        except RecursionError:
            return Verdict(None, "the answer is nested too deeply to be checked")
        if error is None:
            return Verdict(True)
        return Verdict(False, f"at {_path(error.absolute_path)}: {error.message[:200]}")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _path(parts: Any) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
