"""README and the example configuration are held against the code: every code, reason, operation, command and setting."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest

from chatsvc.api.routes import ROUTES
from chatsvc.cli.main import COMMANDS, Lazy, chatsvc
from chatsvc.domain.errors import PROBLEMS
from chatsvc.engines import EMPTY_REASONS, UNAVAILABLE_REASONS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
CELLS = set(re.findall(r"`([^`\n]+)`", README))


def section(title: str) -> str:
    """One section of the README."""
    return README.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def rows(title: str) -> list[list[str]]:
    """The rows of the section's last table."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in section(title).splitlines() if line.startswith("| `")]


def test_every_error_code_is_listed_with_its_status_its_extra_fields_and_what_to_do() -> None:
    listed: dict[str, tuple[int, str]] = {}
    for row in rows("The interface"):
        if len(row) == 4 and row[1].isdigit():
            listed |= {code: (int(row[1]), row[2]) for code in re.findall(r"`(\w+)`", row[0])}
            assert row[3], row
    assert listed.keys() == PROBLEMS.keys()
    for code, problem in PROBLEMS.items():
        assert listed[code][0] == problem.status
        assert [name for name in re.findall(r"`(\w+)`", listed[code][1]) if name in problem.extra] == list(problem.extra), code


def test_every_reason_of_a_502_is_listed_once() -> None:
    table = section("The interface").split("| Reason of a 502 |")[1]
    listed = [reason for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for reason in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(UNAVAILABLE_REASONS | EMPTY_REASONS)


def test_every_operation_is_listed() -> None:
    assert [row[0] for row in rows("The interface")[: len(ROUTES)]] == [f"`{route.method} {route.path}`" for route in ROUTES]


def commands() -> set[str]:
    """Every command of the program, with its group."""
    found: set[str] = set()
    group = chatsvc
    assert isinstance(group, Lazy)
    for name in COMMANDS:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        found |= {f"{name} {inner}" for inner in command.commands} if isinstance(command, click.Group) else {name}
    return found


def test_every_command_is_listed_and_nothing_else() -> None:
    listed = {re.sub(r" \[.*", "", name) for row in rows("Command line") for name in re.findall(r"`([^`]+)`", row[0])}
    assert listed == commands()


def settings(text: str) -> set[str]:
    """The dotted names of the example configuration; tiers and plans by one name each."""
    import yaml

    def walk(value: object, path: str) -> set[str]:
        if isinstance(value, dict) and path not in ("models", "plans"):
            return {name for key, inner in value.items() for name in walk(inner, f"{path}.{key}" if path else key)}
        return {path}

    return walk(yaml.safe_load(text), "")


def test_every_setting_of_the_example_is_in_the_table_and_nothing_else() -> None:
    listed = {name for row in rows("Configuration") for name in re.findall(r"`([\w.]+)`", row[0])}
    listed = {name.removesuffix(".TIER").removesuffix(".NAME") for name in listed} - {"engines.anthropic.api_key_file", "master_key_file"}
    assert listed == settings((ROOT / "config.example.yaml").read_text("utf-8"))


def test_the_two_commands_for_a_newcomer_exist() -> None:
    named = re.findall(r"^scripts/\w+", section("Try it"), re.MULTILINE)
    assert named == ["scripts/quickstart", "scripts/test"]
    assert all((ROOT / name).stat().st_mode & 0o111 for name in named)


VECTOR = ("It's a Secret to Everybody", b"Hello, World!", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")


def snippet(language: str) -> str:
    """The function that the README gives to receivers in one language."""
    return re.search(rf"```{language}\n(.*?)```", section("Webhooks"), re.DOTALL)[1]  # type: ignore[index]  # it is there


def test_the_python_function_verifies_the_published_vector() -> None:
    names: dict[str, Any] = {}
    exec(snippet("python"), names)  # noqa: S102  # the README's own words are what is tested
    key, body, signature = VECTOR
    assert names["verified"](key, body, signature)
    assert not names["verified"](key, body + b"!", signature)
    assert not names["verified"](key, body, "sha256=ç")


RUNNERS = {
    "js": ("node", ["-e"], 'process.exit(verified({0}, Buffer.from({1}), {2}) && !verified({0}, Buffer.from({1} + "!"), {2}) ? 0 : 1)'),
    "php": ("php", ["-r"], 'exit(verified({0}, {1}, {2}) && !verified({0}, {1} . "!", {2}) ? 0 : 1);'),
}


@pytest.mark.parametrize("language", RUNNERS)
def test_the_functions_that_can_run_here_verify_the_published_vector(language: str) -> None:
    program, options, call = RUNNERS[language]
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not on this machine")
    key, body, signature = VECTOR
    code = f"{snippet(language)}\n{call.format(json.dumps(key), json.dumps(body.decode()), json.dumps(signature))}"
    subprocess.run([found, *options, code], check=True, timeout=30)  # the README's own words
