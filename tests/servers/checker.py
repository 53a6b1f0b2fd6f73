"""A judge of criteria for a FaultyServer: "names WORD" is met where the attempt has that word."""

from __future__ import annotations

import json
import re

from servers.faulty_server import Answer, Asked, said

_SHOWN = re.compile(r"^@\w+ candidate \w+\n(.*?)^@\w+ end$", re.MULTILINE | re.DOTALL)


def verdicts(asked: Asked) -> str:
    """The reply to a question about one attempt and numbered criteria."""
    system, question = (message["content"] for message in asked.body["messages"])
    (attempt,) = _SHOWN.findall(question)
    if "from 0 to 100" in system and not re.search(r"^1\. ", system, re.MULTILINE):  # one score for one attempt
        (key,) = re.findall(r"candidate (\w+)\n", question)
        return json.dumps({"explanations": {}, "scores": {key: 80 if "Mars" in attempt else 30}})
    criteria = re.findall(r"^(\d+)\. .*?names (\w+)", system, re.MULTILINE)
    return json.dumps({number: {"reason": "looked", "met": word in attempt} for number, word in criteria})


def checker(asked: Asked) -> Answer:
    """Answers a question about an attempt that is not "unclear"; of such a one it says nothing, nor to any other
    question.
    """
    if not _SHOWN.search(asked.body["messages"][-1]["content"]):
        return said("{}")
    return said("{}" if "unclear" in asked.body["messages"][-1]["content"] else verdicts(asked))
