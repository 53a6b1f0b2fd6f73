"""Write docs/options.md and docs/commands.md from options and commands: ``python scripts/reference.py``.

A test fails when one of them is stale.
"""

from __future__ import annotations

import inspect
import json
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import click

from calipers.cli import app
from calipers.cli.options import ALL, CommandOption
from calipers.config import JudgeOptions
from calipers.config.option import SECTIONS, Option, groups_of
from calipers.config.options import flat_options

DOCS: Final = Path(__file__).parents[1] / "docs"
_IN_PYTHON: Final = "Only in Python"
_HEAD: Final = """\
# Which options does a judge have?

<!-- Written by scripts/reference.py from the fields in src/calipers/config/*options.py: change them there. -->

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

Below, `group.field` is a field of a group. `Judge.of` and [verl's table](trainers/verl.md) take flat names: the name in
brackets, if there is one, otherwise the field's. `Judge.of` also takes the keys and values of [calipers.toml](cli.md),
which are those of the flags (`weights = "2,1"`). The environment variable of `--base-url` is `CALIPERS_BASE_URL`.

A single value stands for the first field of a group: `panel="cycle"`, `reward="rank"`, `resolve=0.015`. `resolve=True`
takes this group's defaults.
"""

_COMMANDS_HEAD: Final = """\
# What does each command take?

<!-- Written by scripts/reference.py from the commands in src/calipers/cli: change their help there. -->

Each flag is also a key of `calipers.toml` and an environment variable: `--base-url` is `base-url` and
`CALIPERS_BASE_URL`. `--help` shows everyday flags, `--help-all` this page's text. [Command line](cli.md) has exit codes
and settings.
"""
_TAKE_JUDGE_OPTIONS: Final = ("score", "serve")
_MANY: Final = 3
"""A flag that so many commands take, with the same help, is explained once."""
_NOT_SHOWN: Final = ("Exit code: 0", "\b")
"""How paragraphs of a help begin that stand at the top of the page, or are examples."""


def options_page() -> str:
    """Every option of a judge, by section."""
    options = list(flat_options().values())
    parts = [_HEAD, _signature()]
    for section in (*SECTIONS, ""):
        rows = [_row(option) for option in options if option.section == section]
        heads = "| in Python | what it does | default | flag |\n|---|---|---|---|\n"
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
    place = f"`{option.group}.{option.name}`" if option.group else f"`{option.name}`"
    place = f"[{place}]({option.link})" if option.link else place
    flag = f"`--{option.flag}`{f' {option.metavar}' if option.metavar else ''}" if option.section else ""
    key = f" (`{option.key}`)" if option.key != option.name else ""
    default = option.unset or f"`{_shown(option.default)}`"
    bounds = option.kind in {"whole", "number"} and (option.low is not None or option.high is not None)
    values = " ".join(f"`{one}`" for one in option.choices or (option.registered.ours if option.registered else ()))
    more = [
        f"{option.range[0].upper()}{option.range[1:]}." if bounds else "",
        f"Values: {values}." if values and not bounds else "",
    ]
    return f"| {place}{key} | {' '.join(filter(None, [option.help, *more]))} | {default} | {flag} |\n"


def _shown(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


def commands_page() -> str:
    """Every command with its own flags: those that many commands take stand once, those of a judge on another page."""
    commands = list(_commands())
    seen = Counter(row for _, command in commands for row in _rows(command))
    of_a_judge = {f"--{option.flag}" for option in flat_options().values() if option.section}
    shared = [
        row for row, count in seen.items() if count >= _MANY and row[1:].split("`")[0].split()[0] not in of_a_judge
    ]
    table = "".join(f"- {row}\n" for row in shared)
    parts = [_command(name, command, shared) for name, command in commands]
    return "\n".join([_COMMANDS_HEAD, f"## Flags of many commands\n\n{table}", *parts])


def _commands() -> Iterator[tuple[str, click.Command]]:
    for name, outer in app.commands.items():
        yield name, outer
        if isinstance(outer, click.Group):
            yield from ((f"{name} {inner}", command) for inner, command in outer.commands.items())


def _rows(command: click.Command) -> dict[str, click.Option]:
    """A line for each flag but --help-all, with its option."""
    context = click.Context(command)
    context.meta[ALL] = True
    pairs = ((one.get_help_record(context), one) for one in command.params if isinstance(one, CommandOption))
    return {f"`{record[0]}`: {_cell(record[1])}": one for record, one in pairs if record}


def _command(name: str, command: click.Command, shared: Sequence[str]) -> str:
    """A command's section: its usage and its help, then a line a flag."""
    usage = command.get_usage(click.Context(command, info_name=f"calipers {name}")).removeprefix("Usage: ")
    judges = {f"--{option.flag}" for option in flat_options().values() if option.section}
    rows = _rows(command)
    of_a_judge = [one.opts[-1] for one in rows.values() if judges.intersection(one.opts)]
    of_many = [one.opts[-1] for row, one in rows.items() if row in shared and one.opts[-1] not in of_a_judge]
    also = []
    if name in _TAKE_JUDGE_OPTIONS:
        also.append("all [options of a judge](options.md)")
    elif of_a_judge:
        also.append(f"these [judge options](options.md): {', '.join(f'`{flag}`' for flag in of_a_judge)}")
    if of_many:
        also.append(", ".join(f"`{flag}`" for flag in of_many))
    note = f"\nAlso {'; '.join(also)}.\n" if also else ""
    own = [row for row, one in rows.items() if row not in shared and not judges.intersection(one.opts)]
    table = f"\n{''.join(f'- {row}{chr(10)}' for row in own)}" if own else ""
    paragraphs = inspect.cleandoc(command.help or "").split("\f")[0].split("\n\n")
    paragraphs = [one for one in paragraphs if not one.startswith(_NOT_SHOWN)]
    return f"## `calipers {name}`\n\n```text\n{' '.join(usage.split())}\n```\n\n{_prose(paragraphs)}{note}{table}"


def _prose(paragraphs: list[str]) -> str:
    """Help as Markdown: what click keeps as lines (after a line with a backspace) is a block of text."""
    parts = []
    for paragraph in filter(None, map(str.strip, paragraphs)):
        is_block = paragraph.startswith("\b")
        text = paragraph.removeprefix("\b").strip("\n")
        parts.append(f"```text\n{inspect.cleandoc(text)}\n```\n" if is_block else f"{' '.join(text.split())}\n")
    return "\n".join(parts)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("[", "\\[").replace("*", "\\*")


PAGES: Final[dict[str, Callable[[], str]]] = {"options.md": options_page, "commands.md": commands_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
