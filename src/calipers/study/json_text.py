"""What is wrong with a file of a study that is not JSON, in words for its user. Not responsible for reading it."""

from __future__ import annotations

import json


def why_no_json(error: ValueError | RecursionError) -> str:
    """Return what json.loads, or decoding the text before it, found wrong with a file of a study."""
    match error:
        case UnicodeDecodeError():
            return "it is not UTF-8 text"
        case json.JSONDecodeError():
            return f"it is not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        case RecursionError():
            return "it is nested too deeply"
    return "a number in it has thousands of digits"
