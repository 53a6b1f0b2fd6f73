"""Reads a user's own grader prompt from a text file, or from a string constant of a Python file, which never runs.

Not responsible for what a template must hold (``rubric.grader_prompt``).
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from calipers.errors import ConfigError, InputError
from calipers.rubric.grader_prompt import CONVERSATION, require_grader_prompt

_LARGEST: Final = 4_000_000


def with_grader_prompt(grading: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a ``Grading`` with the text of its ``grader_prompt``, if that is the name of a file.

    A text with <<conversation>> is the template itself; any other is a path. Such a grading asks ``per_criterion``
    unless it names another mode. Raises InputError for a file that holds no template.
    """
    given = grading.get("grader_prompt")
    if given is None:
        return grading
    if isinstance(given, os.PathLike) or (isinstance(given, str) and "<<" not in given and "\n" not in given):
        given = read_grader_prompt(given)
    return {"mode": "per_criterion", **grading, "grader_prompt": given}


def read_grader_prompt(path: str | os.PathLike[str]) -> str:
    """Return the grader prompt in a text file, or the one in a Python file that assigns it to a name, stripped.

    A Python file, such as ``healthbench_eval.py`` of openai/simple-evals, is parsed and never run: its one string
    with <<conversation>>, with or without ``.strip()``, is the template. Raises InputError naming the file.
    """
    source = os.fspath(path)
    try:
        if Path(source).stat().st_size > _LARGEST:
            raise InputError("is too large for a grader prompt", source=source)
        is_code = source.endswith(".py")
        data = Path(source).read_bytes()
        text = "" if is_code else data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, ValueError) as error:
        why = "it is not UTF-8 text" if isinstance(error, UnicodeError) else getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot be read ({why}); grader_prompt names a text file with <<conversation>> and <<rubric_item>>",
            source=source,
        ) from None
    template = _template_of_code(data, source) if is_code else text.strip()
    try:
        require_grader_prompt(template)
    except ConfigError as error:
        raise InputError(str(error), source=source) from None
    return template


def _template_of_code(data: bytes, source: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as those about "\d" elsewhere in the file
            module = ast.parse(data)  # bytes, so that Python's own rules tell the encoding
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"is no Python file that can be parsed ({type(error).__name__})", source=source) from None
    found = dict(_strings(module))
    if len(found) != 1:
        names = f"{len(found)} ({', '.join(found)})" if found else "none"
        raise InputError(
            f"must assign one string with {CONVERSATION} to a name, and has {names}; copy the template into a text "
            "file and name that",
            source=source,
        )
    return next(iter(found.values())).strip()


def _strings(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the names and values of a module's strings that have a place for a conversation."""
    for line in module.body:
        if not isinstance(line, ast.Assign | ast.AnnAssign):
            continue
        target = line.targets[0] if isinstance(line, ast.Assign) else line.target
        match line.value:
            case (
                ast.Constant(value=str(text))
                | ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="strip"), args=[], keywords=[])
            ):
                if isinstance(target, ast.Name) and CONVERSATION in text:
                    yield target.id, text
