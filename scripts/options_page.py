"""Write docs/options.md from the options' own fields: ``python scripts/options_page.py``. A test fails when it is
stale.
"""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from calipers.config import JudgeOptions
from calipers.config.option import SECTIONS, Option, groups_of
from calipers.config.options import flat_options

PAGE: Final = Path(__file__).parents[1] / "docs" / "options.md"
_IN_PYTHON: Final = "Only in Python"
_HEAD: Final = """\
# Every option of a judge

<!-- Written by scripts/options_page.py from the fields in src/calipers/config/*options.py: change them there. -->

An option has one name everywhere. In Python, everyday options are arguments of `Judge`, and the others belong to a
group, which is an object from `calipers.config` or a mapping of its fields:

```python
import calipers
from calipers.config import Calls

judge = calipers.Judge("embedded", orders=2, calls={"timeout": 30}, question={"at_once": 8})
same = calipers.Judge("embedded", orders=2, calls=Calls(timeout=30), question={"at_once": 8})
flat = calipers.Judge.of({"judge": "embedded", "orders": 2, "timeout": 30, "at_once": 8})
assert judge.settings == same.settings == flat.settings
```

`Judge.of` takes flat names, as [verl's table](trainers/verl.md) does: the name in Python, or the one in brackets behind
it. In [calipers.toml](cli.md), keys are the flags' names; `Judge.of` also takes these, with values as that file has
them (`weights = "2,1"`). A lone value stands for the first field of a group:
`panel="cycle"`, `reward="rank"`, `resolve=0.015`; `resolve=True` takes that group's defaults.
"""


def page() -> str:
    """The page's text."""
    options = list(flat_options().values())
    parts = [_HEAD, _signature()]
    for section in (*SECTIONS, ""):
        rows = [_row(option) for option in options if option.section == section]
        heads = "| in Python | what it does | default | flag | environment |\n|---|---|---|---|---|\n"
        title = {"Options": "Where answers are recorded", "": _IN_PYTHON}.get(section, section)
        parts.append(f"## {title}\n\n{heads}{''.join(rows)}")
    return "\n".join(parts)


def _signature() -> str:
    arguments = ", ".join(_arguments())
    groups = "\n".join(
        f"- `{name}`: {inspect.getdoc(of)}".replace("``", "`") for name, of in groups_of(JudgeOptions).items()
    )
    call = textwrap.fill(f"Judge({arguments})", width=110, subsequent_indent="      ", break_long_words=False)
    return f"```text\n{call}\n```\n\n{groups}\n"


def _arguments() -> Iterator[str]:
    for name, argument in inspect.signature(JudgeOptions).parameters.items():
        if argument.default is inspect.Parameter.empty:
            yield f"{name}, *"
        else:
            yield f"{name}={_shown(argument.default)}"


def _row(option: Option) -> str:
    place = f"`{option.group}` `{option.name}`" if option.group else f"`{option.name}`"
    flag = f"`--{option.flag}`{f' {option.metavar}' if option.metavar else ''}" if option.section else ""
    variable = f"`{option.variable}`" if option.section else ""
    key = f" (`{option.key}`)" if option.key != option.name else ""
    default = option.unset or f"`{_shown(option.default)}`"
    bounds = option.kind in {"whole", "number"} and (option.low is not None or option.high is not None)
    values = " ".join(f"`{one}`" for one in option.choices or (option.registered.ours if option.registered else ()))
    more = [
        f"{option.range[0].upper()}{option.range[1:]}." if bounds else "",
        f"Values: {values}." if values and not bounds else "",
        f"[More]({option.link})." if option.link else "",
    ]
    return f"| {place}{key} | {' '.join(filter(None, [option.help, *more]))} | {default} | {flag} | {variable} |\n"


def _shown(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
