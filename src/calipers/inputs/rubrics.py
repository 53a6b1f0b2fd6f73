"""Read a rubric from a file that people write, in TOML, JSON or YAML (``read_rubric``), and a grader prompt."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from calipers.errors import ConfigError, InputError
from calipers.inputs.jsonl import open_binary
from calipers.rubric import as_rubric
from calipers.rubric.grader_prompt import require_grader_prompt
from calipers.types import Rubric

SUFFIXES = (".toml", ".json", ".yaml", ".yml")
_INSTALL = "reading YAML needs PyYAML: pip install 'calipers[yaml]', or write the rubric as TOML"


def read_rubric(path: str | os.PathLike[str]) -> Rubric:
    """Read the rubric in a file: ``.toml``, ``.json``, ``.yaml`` or ``.yml``.

    The file holds a table with ``criteria``, or (not in TOML) a list of criteria, which are tables or plain questions.
    Raises InputError naming the file, the criterion and the field that cannot be read; ConfigError for YAML without
    PyYAML, and for a file of another kind.
    """
    file = Path(path)
    if file.suffix not in SUFFIXES:
        raise ConfigError(f"{file}: a rubric with criteria is a file named {', '.join(SUFFIXES)}")
    value = _parsed(file)
    try:
        return as_rubric(value)
    except ConfigError as error:
        raise InputError(str(error), source=str(file)) from None


def _parsed(file: Path) -> Any:
    try:
        with open_binary(file) as stream:
            text = stream.read().decode("utf-8-sig")
        if file.suffix == ".toml":
            return tomllib.loads(text)
        if file.suffix == ".json":
            return json.loads(text)
    except UnicodeDecodeError:
        raise InputError("is not UTF-8 text; save the file as UTF-8", source=str(file)) from None
    except ValueError as error:
        raise InputError(f"is not {file.suffix[1:].upper()}: {error}", source=str(file)) from None
    except RecursionError:
        raise InputError("is nested too deeply to be a rubric", source=str(file)) from None
    return _yaml(text, file)


def _yaml(text: str, file: Path) -> Any:
    try:
        import yaml  # noqa: PLC0415 - an extra
    except ImportError:
        raise ConfigError(f"{file}: {_INSTALL}") from None
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"is not YAML: {reason}", source=str(file)) from None


def with_grader_prompt(grading: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a ``Grading`` with the text of its ``grader_prompt``, if that is the name of a text file.

    A text with <<conversation>> is the template itself. Such a grading asks ``per_criterion`` unless it names another
    mode. Raises InputError for a file that holds no template.
    """
    given = grading.get("grader_prompt")
    if given is None:
        return grading
    if isinstance(given, os.PathLike) or (isinstance(given, str) and "<<" not in given and "\n" not in given):
        given = _grader_prompt(Path(given))
    return {"mode": "per_criterion", **grading, "grader_prompt": given}


def _grader_prompt(file: Path) -> str:
    with open_binary(file) as stream:
        try:
            template = stream.read().decode("utf-8-sig").replace("\r\n", "\n").strip()
            require_grader_prompt(template)
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text; grader_prompt names a text file", source=str(file)) from None
        except ConfigError as error:
            raise InputError(str(error), source=str(file)) from None
    return template
