"""`--help`: every command tells what it does, what its options take, and how it is used; the examples are held against the commands."""

import re
import runpy
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from chatsvc.cli.main import COMMANDS, CatalogueCommand, CatalogueGroup, chatsvc
from chatsvc.services.administration import OPERATIONS
from chatsvc.translations import section

NO_DATA = {"completion"}  # what it prints is for a shell


def tree(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """All commands that can be run, with the words that name them."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from tree(command, (*path, name))
        else:
            yield (*path, name), command


assert isinstance(chatsvc, click.Group)
EVERY = dict(tree(chatsvc))
each = pytest.mark.parametrize("path", EVERY, ids=" ".join)


def help_of(path: tuple[str, ...]) -> str:
    """The output of a command's own `--help`."""
    command = EVERY[path] if path else chatsvc
    return command.get_help(click.Context(command, info_name=" ".join(("chatsvc", *path)), terminal_width=100))


def examples(text: str) -> list[str]:
    lines = text.split("\n  Examples:\n")[1].split("\n\n", maxsplit=1)[0].splitlines()
    return [line.strip() for line in lines]


def command_of(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that a line names, and what it is given."""
    main = chatsvc.make_context("chatsvc", words, resilient_parsing=True)
    command: click.Command = chatsvc
    rest = [*main._protected_args, *main.args]  # what is left after the program's own options
    while isinstance(command, click.Group):
        subcommand = command.get_command(click.Context(command), rest[0])
        assert subcommand is not None, f"there is no command {rest[0]}"
        command, rest = subcommand, rest[1:]
    return command, rest


@each
def test_a_command_says_in_a_line_what_it_does_then_more_then_shows_how(path: tuple[str, ...]) -> None:
    paragraphs = (EVERY[path].help or "").split("\n\n")
    assert len(" ".join(paragraphs[0].split())) <= 130
    assert paragraphs[0].rstrip().endswith(".")
    assert len(paragraphs) >= 3, "a line, a paragraph, examples"
    assert examples(help_of(path))


@each
def test_the_examples_are_of_that_command_and_its_options(path: tuple[str, ...]) -> None:
    own = [line for line in examples(help_of(path)) if "chatsvc " in line]
    shown = []
    for line in own:
        words = shlex.split(line.removeprefix('eval "$(').removesuffix(')"').split(" > ")[0].split(" | ")[0].split(" || ")[0])
        command, given = command_of(words[1:])
        options, _, _ = command.make_parser(click.Context(command)).parse_args(args=given)
        missing = [param.name for param in command.params if param.required and options.get(param.name or "") in (None, ())]
        assert not missing, line
        for param in command.params:
            if isinstance(param.type, click.Choice | click.types.IntParamType | click.types.FloatParamType) and param.name in options:
                param.type.convert(options[param.name], param, None)
        shown.append(command)
    assert EVERY[path] in shown


@each
def test_every_option_says_what_it_takes(path: tuple[str, ...]) -> None:
    for option in EVERY[path].params:
        if isinstance(option, click.Option):
            assert option.help, option.name
            assert option.help.endswith((".", "...")), option.help
            if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType) and not option.required:
                assert option.show_default or "else" in option.help, f"{option.name} does not say what holds without it"


def test_every_command_that_has_something_to_tell_tells_it_as_json() -> None:
    for path, command in EVERY.items():
        assert any("--json" in option.opts for option in command.params) is (path[0] not in NO_DATA), path


def test_the_program_itself_shows_how_it_is_used_and_tells_of_its_exit_status_and_environment() -> None:
    text = help_of(())
    for line in examples(text):
        if line.startswith("chatsvc "):
            assert command_of(shlex.split(line)[1:])
    assert "Exit status:" in text
    assert "CHATSVC_CONFIG" in text


def test_the_list_of_commands_says_what_each_is_for() -> None:
    for name, (_, text) in COMMANDS.items():
        command = chatsvc.get_command(click.Context(chatsvc), name)
        assert command is not None
        assert text.endswith(".")
        assert command.help


def test_the_manual_page_has_every_command_with_its_examples_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(Path(__file__).parents[2] / "packaging" / "manual.py"), run_name="__main__")
    page = capsys.readouterr().out.replace("\\-", "-").replace("\\e", "\\").replace("\\&", "")
    for path, command in EVERY.items():
        (part,) = re.findall(rf"^\.SS {' '.join(path)} \[OPTIONS\](.*?)(?=^\.SS |\Z)", page, re.DOTALL | re.MULTILINE)
        assert all(line in part for line in examples(help_of(path)))
        assert all(option.opts[-1] in part for option in command.params if isinstance(option, click.Option) and "--json" not in option.opts)


def test_no_help_wants_more_room_than_a_screen_of_120_columns() -> None:
    for path in EVERY:
        assert max(map(len, help_of(path).splitlines())) <= 120, path


def groups(group: click.Group) -> Iterator[click.Group]:
    yield group
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from groups(command)


def test_every_help_of_the_catalogue_is_that_of_a_command_or_of_an_option() -> None:
    keys = {command.key for command in (*EVERY.values(), *groups(chatsvc)) if isinstance(command, CatalogueCommand | CatalogueGroup)}
    assert len(keys) == len([*EVERY, *groups(chatsvc)])
    of_all = {opt for command in (*EVERY.values(), chatsvc) for option in command.params for opt in option.opts}
    own = {
        f"{command.key} {opt}"
        for command in EVERY.values()
        if isinstance(command, CatalogueCommand)
        for param in command.params
        for opt in param.opts
    }
    known = section("commands").keys()
    assert keys <= known
    assert known - keys <= of_all | own
    operations = {command.operation for command in EVERY.values() if isinstance(command, CatalogueCommand) and command.operation}
    assert operations <= OPERATIONS.keys()
