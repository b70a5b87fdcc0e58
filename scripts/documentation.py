"""Generator of the parts of the manual that are made from the code. See scripts/docs."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from pathlib import Path

import click

from chatsvc import config
from chatsvc.cli.main import COMMANDS, chatsvc
from chatsvc.domain.errors import PROBLEMS, REPLY_FAILURES, RETRYABLE_REASONS
from chatsvc.metrics import FAMILIES

ROOT = Path(__file__).resolve().parent.parent
HELP = ROOT / "chatsvc" / "help"
DECLARED = ROOT / "chatsvc" / "config" / "example.yaml"
NAMED = ("models", "plans")  # maps whose keys are names that the operator chooses
_PART = re.compile(r"(<!-- begin (.+?): written by scripts/docs -->\n).*?(<!-- end \2 -->)", re.DOTALL)


_AGAIN = "Repeat with the same Idempotency-Key and growing pauses."
_TELL = "Tell the operator; `chatsvc doctor` names the fault."
# What the reasons of a 502 mean, and what to do.
_REASONS = {
    "no_answer": ("The bot's knowledge has no answer.", "Show a sentence of your own, or let a person answer."),
    "timeout": ("The model server did not answer within the deadline.", _AGAIN),
    "unreachable": ("No connection to the model server.", _AGAIN),
    "overloaded": ("The model server is overloaded.", _AGAIN),
    "rate_limited": ("The model server limits its requests.", _AGAIN),
    "provider_error": ("The model server reported a fault of its own.", _AGAIN),
    "bad_response": ("The model server's answer could not be read.", _AGAIN),
    "busy": ("An earlier message of the conversation used up the deadline.", "Repeat with the same Idempotency-Key."),
    "refused": ("The model declined to answer.", "Ask in other words."),
    "context_exceeded": ("The conversation is too long for the model.", "Shorten the message, or continue with another `user_id`."),
    "tool_loop": ("The model called tools without coming to an end.", "Repeat once."),
    "empty": ("The reply was empty.", "Repeat once."),
    "truncated": ("The reply reached the model's length limit.", "Repeat once, or ask for less."),
    "not_configured": ("The bot's tier has no model server or no key.", _TELL),
    "provider_auth": ("The model server refused the key.", _TELL),
    "model_not_found": ("The model server does not have the model.", _TELL),
    "request_rejected": ("The model server refused the request as invalid.", _TELL),
}


def table(heading: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heading)} |"
    yield "|---" * len(heading) + "|"
    for cells in rows:
        line = " | ".join(re.sub("“([^”]+)”", r"`\1`", cell).replace("|", "\\|") for cell in cells)
        yield re.sub(" +", " ", f"| {line} |")


def _wrapped(text: str) -> Iterator[str]:
    """Yield the lines of a paragraph and an empty one, or nothing if there is no text."""
    if text:
        yield from (*textwrap.wrap(text, 140, break_long_words=False, break_on_hyphens=False), "")


def _codes(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def error_codes() -> Iterator[str]:
    rows = [
        (_codes([problem.code]), str(problem.status), retryable, _codes(problem.extra), problem.text("en"), problem.text("remedy"))
        for problem in sorted(PROBLEMS.values(), key=lambda problem: problem.status)
        for retryable in ["by `reason`" if problem.status == 502 else "yes" if problem.retryable else ""]
    ]
    return table(("Code", "Status", "Retryable", "Also in the body", "Meaning", "What to do"), rows)


def reasons() -> Iterator[str]:
    rows = ((f"`{name}`", "yes" if name in RETRYABLE_REASONS else "", *_REASONS[name]) for name in REPLY_FAILURES)
    return table(("Reason", "Retryable", "Meaning", "What to do"), rows)


def metrics() -> Iterator[str]:
    """Yield a row for each metric, under the name that Prometheus shows."""
    suffixes = {"counter": "_total", "info": "_info"}
    rows = ((f"`{family.name}{suffixes.get(family.kind, '')}`", _codes(family.labels), family.kind, family.text) for family in FAMILIES)
    return table(("Metric", "Labels", "Type", "Meaning"), rows)


def commands() -> Iterator[str]:
    for name, (_, about) in COMMANDS.items():
        command = chatsvc.get_command(click.Context(chatsvc), name)
        yield from (f"## {name}", "")
        if isinstance(command, click.Group):
            yield from _wrapped(about)
            for inner, subcommand in command.commands.items():
                yield from _command(subcommand, f"{name} {inner}", 3)
        else:
            yield from _command(command, name, 0)


def _command(command: click.Command, words: str, level: int) -> Iterator[str]:
    ctx = click.Context(command, info_name=words)
    usage = " ".join(piece for piece in command.collect_usage_pieces(ctx) if piece != "[OPTIONS]")
    line = f"`{words} {usage}".rstrip() + "`"
    paragraphs = [" ".join(part.split()) for part in (command.help or "").split("\n\n") if not part.lstrip().startswith("\b")]
    yield from (f"{'#' * level} {line}".lstrip(), "")
    for paragraph in paragraphs:
        yield from _wrapped(paragraph)
    options = [option for option in command.params if isinstance(option, click.Option) and "--json" not in option.opts]
    records = map(click.Option.get_help_record, options, repeat(ctx))
    rows = [(f"`{record[0]}`", record[1]) for record in records if record]
    if rows:
        yield from (*table(("Option", "Meaning"), rows), "")


def settings() -> Iterator[str]:
    """Yield, for each section of the example configuration, a table of names, types, defaults and meanings."""
    for name, (about, rows) in _sections(DECLARED.read_text("utf-8").splitlines()).items():
        if about or rows:
            yield from (f"{'###' if '.' in name else '##'} {name}", "")
            yield from _wrapped(about)
            yield from (*table(("Setting", "Type", "Default", "Meaning"), rows), "")


def _sections(lines: list[str]) -> dict[str, tuple[str, list[tuple[str, ...]]]]:
    """Return the sections of the example configuration by name. Each has its comment, and a row for each of its settings."""
    sections: dict[str, tuple[str, list[tuple[str, ...]]]] = {}
    path: list[str] = []
    comment: list[str] = []
    for number, line in enumerate(lines):
        setting = re.fullmatch(r"( *)(\w+):(?: +(.*))?", line)
        if setting is None:
            comment = [*comment, line.strip("# ")] if line else []
            continue
        indent, key, default = setting.groups()
        path = [*path[: len(indent) // 2], key]
        name, text = ".".join(path), " ".join(comment)
        comment = []
        if path[0] in NAMED:
            if not indent:
                sections[name] = ("", [(f"`{name}.NAME`", *_named(lines, number), text)])
        elif default is None:
            sections[name] = (text, [])
        else:
            _, rows = sections.setdefault(".".join(path[:-1]) or name, ("", []))
            rows.append((f"`{name}`", _type(lines, number), "" if default == "null" else f"`{default}`", text))
    return sections


def _named(lines: list[str], number: int) -> tuple[str, str]:
    """Return the keys that an entry of a named map may have, and the default entries of that map."""
    block = lines[number + 1 : lines.index("", number)]
    (keys,) = (fault.rpartition("expected ")[2] for fault in _faults([lines[number], "  x: {odd: 1}"]) if "unknown" in fault)
    return keys, "; ".join(f"`{' '.join(line.split())}`" for line in block)


def _type(lines: list[str], number: int) -> str:
    """Return the type of a setting, in the words of the error message for a wrong type."""
    faults = _faults([*lines[:number], re.sub(":.*", ": [[odd]]", lines[number]), *lines[number + 1 :]])
    path, _, expected = faults[-1].partition(": expected ")
    return f"list; each is {expected}" if path.endswith("]") else expected


def _faults(lines: list[str]) -> list[str]:
    """Return the faults of a configuration with these lines, without their positions."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.yaml"
        file.write_text("\n".join(lines), "utf-8")
        try:
            config.load(file, {})
        except config.ConfigError as fault:
            return [re.sub(r"^.*?:\d+:\d+: ", "", line) for line in str(fault).splitlines()]
    raise AssertionError("an odd value was taken")


PARTS: dict[str, Callable[[], Iterator[str]]] = {
    "error codes": error_codes,
    "reasons": reasons,
    "metrics": metrics,
    "commands": commands,
    "settings": settings,
}


def generated(markdown: str) -> str:
    """Return the text of a page of the manual with its generated parts renewed."""

    def write(part: re.Match[str]) -> str:
        lines = "\n".join(line.rstrip() for line in PARTS[part[2]]())
        return f"{part[1]}{lines.strip()}\n{part[3]}"

    return _PART.sub(write, markdown)


def main() -> int:
    """Write all files. With --check, only print the names of files that are out of date."""
    parser = argparse.ArgumentParser(prog="scripts/docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 when a file is out of date")
    check: bool = parser.parse_args().check
    files = {file: generated(file.read_text("utf-8")) for file in sorted(HELP.glob("*.md"))}
    stale = [file for file, text in files.items() if file.read_text("utf-8") != text]
    for file in stale:
        if not check:
            file.write_text(files[file], "utf-8")
        print(f"{file.relative_to(ROOT)} {'is out of date: run scripts/docs' if check else 'written'}")
    return 1 if check and stale else 0


sys.exit(main())
