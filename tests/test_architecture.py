"""Import rules, uses of libraries and the making of SQL, read from the sources."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import click
import pytest

import chatsvc
from chatsvc.cli.catalogue import CatalogueCommand
from chatsvc.cli.main import COMMANDS
from chatsvc.cli.main import chatsvc as chatsvc_command
from chatsvc.control.rendering import RENDERERS
from chatsvc.domain import channels as domain_channels
from chatsvc.domain.refusals import Refused
from chatsvc.platforms import PLATFORMS
from chatsvc.services.administration import OPERATIONS, find

pytestmark = pytest.mark.no_cover  # the sources are read, hardly anything of them is run

ROOT = Path(chatsvc.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# A room may use these rooms beside itself. What is not in the table is in nobody's reach.
REACH: dict[str, set[str]] = {
    "chatsvc": set(),
    "background": set(),
    "log": {"domain"},
    "samples": set(),
    "supervisor": set(),
    "timezones": set(),
    "translations": set(),
    "domain": {"translations"},
    "language": {"domain"},
    "local_user": {"domain"},
    "config": {"domain", "local_user"},
    "store": {"chatsvc", "background", "domain"},
    "outbound": {"chatsvc", "domain"},
    "engines": {"chatsvc", "domain", "language", "outbound"},
    "webhooks": {"background", "domain", "config", "store", "outbound"},
    "services": {
        "translations",
        "chatsvc",
        "background",
        "doctor",
        "domain",
        "config",
        "file_reader",
        "store",
        "engines",
        "language",
        "outbound",
        "webhooks",
    },
    "control": {
        "translations",
        "background",
        "domain",
        "local_user",
        "config",
        "store",
        "outbound",
        "webhooks",
        "services",
        "platforms",
    },
    "metrics": {"chatsvc", "domain", "store", "services"},
    "web": {"background", "domain", "config", "outbound", "services", "tls", "acme", "log"},
    "api": {"domain", "config", "store", "services", "web"},
    "widget": {"background", "chatsvc", "domain", "config", "store", "outbound", "services", "log", "web"},
    "platforms": {"background", "chatsvc", "doctor", "domain", "config", "store", "outbound", "engines", "services", "log", "web"},
    "dashboard": {"translations", "doctor", "domain", "config", "store", "services", "log", "web"},
    "tls": {"domain"},
    "acme": {"chatsvc", "domain", "config", "outbound", "tls"},
    "doctor": {"chatsvc", "timezones", "local_user", "domain", "config", "store", "engines", "language", "outbound", "tls"},
    "cli": {
        "translations",
        "chatsvc",
        "local_user",
        "timezones",
        "doctor",
        "domain",
        "config",
        "store",
        "engines",
        "language",
        "outbound",
        "webhooks",
        "services",
        "platforms",
        "control",
        "samples",
        "log",
        "tls",
        "app",
    },
    "app": {
        "background",
        "domain",
        "config",
        "store",
        "engines",
        "outbound",
        "webhooks",
        "services",
        "control",
        "web",
        "api",
        "widget",
        "platforms",
        "dashboard",
        "metrics",
        "log",
        "supervisor",
        "timezones",
        "workers",
    },
    "workers": {"background", "store", "services"},
    "file_reader": {"domain"},
    "__main__": {"cli", "file_reader", "services"},
}
# The only files in which a library is used; a folder stands for all that is in it.
LIBRARIES = {
    "aiohttp": {
        "cli/forwarder.py",
        "webhooks/sender.py",
        "web",
        "control/server.py",
        "api",
        "app.py",
        "dashboard",
        "widget",
        "platforms/whatsapp/front_end.py",
        "outbound",
        "cli/demo.py",
        "cli/listener.py",
        "engines/anthropic",
        "metrics",
    },
    "aiosmtplib": {"outbound/smtp.py"},
    "aiosqlite": {"store/sqlite/thread.py"},
    "anthropic": {"engines"},
    "click": {"cli"},
    "cryptography": {
        "webhooks/sealing.py",
        "tls/certificates.py",
        "acme",
        "services/team/own_session.py",
        "services/team/second_factor.py",
    },
    "httpx2": {"engines/anthropic"},
    "icalendar": {"services/conversations/calendar.py"},
    "jinja2": {"dashboard/templating.py"},
    "markupsafe": {"dashboard/templating.py"},
    "multidict": {"web/forms.py"},
    "mammoth": {"file_reader/word.py"},
    "multipart": {"web/forms.py"},
    "orjson": {"api", "store/conversations.py", "webhooks"},
    "phonenumbers": {"language/contacts.py", "engines/anthropic/grounding.py"},
    "prometheus_client": {"metrics"},
    "psycopg": {"store/postgres"},
    "pypdf": {"file_reader/pdf.py"},
    "tzdata": {"timezones.py"},
    "selectolax": {"file_reader/page_tree.py", "file_reader/website.py"},
    "segno": {"dashboard/qr.py"},
    "sqlite3": {"store/sqlite"},
    "uvloop": {"cli/serve.py", "cli/demo.py"},
    "yarl": {"outbound/client.py"},
    "yaml": {"config", "translations"},
}
# What skins may know of the store: how it tells that it cannot be used.
FAULTS_OF_THE_STORE = {"StoreUnavailable", "StoreInUse", "SchemaTooNew"}
NO_INPUT_OR_OUTPUT = {"asyncio", "io", "logging", "pathlib", "shutil", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "threading"}


@dataclass(frozen=True)
class Import:
    """One imported module, with the names taken from it."""

    file: str
    module: str
    names: tuple[str, ...]
    at_the_top: bool
    line: int

    def __str__(self) -> str:
        return f"chatsvc/{self.file}:{self.line} imports {self.module}"

    @property
    def top(self) -> str:
        """The distribution's name, more or less."""
        return self.module.split(".")[0]


@cache
def tree(path: Path) -> ast.Module:
    """A file's syntax."""
    return ast.parse(path.read_text("utf-8"), str(path))


def room_of(name: str) -> str:
    """The room of a module's dotted name or of a file below chatsvc/."""
    parts = name.removesuffix(".py").replace("/", ".").removeprefix("chatsvc.").split(".")
    return "chatsvc" if parts[0] in {"chatsvc", "__init__"} else parts[0]


@cache
def imports() -> tuple[Import, ...]:
    """Every import of the package: at the top, in functions, and for type checkers alone."""
    found = []
    for path in FILES:
        file = path.relative_to(ROOT).as_posix()
        later = {id(node) for outer in ast.walk(tree(path)) if isinstance(outer, NOT_AT_ONCE) and lazy(outer) for node in ast.walk(outer)}
        for node in ast.walk(tree(path)):
            top = id(node) not in later
            if isinstance(node, ast.Import):
                found += [Import(file, alias.name, (), top, node.lineno) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{file}:{node.lineno}: imports name the whole path here"
                assert node.module
                names = tuple(alias.name for alias in node.names)
                if node.module == "chatsvc":
                    inner = [f"chatsvc.{name}" if (ROOT / name).exists() or (ROOT / f"{name}.py").exists() else "chatsvc" for name in names]
                    found += [Import(file, module, (), top, node.lineno) for module in inner]
                else:
                    found.append(Import(file, node.module, names, top, node.lineno))
    return tuple(found)


NOT_AT_ONCE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.If)


def lazy(node: ast.AST) -> bool:
    """Whether what stands inside is not run when the module is imported."""
    return not isinstance(node, ast.If) or ast.unparse(node.test) == "TYPE_CHECKING"


def within(file: str, places: set[str]) -> bool:
    """Whether a file is one of the places, or lies in one."""
    return any(file == place or file.startswith(f"{place}/") for place in places)


def test_the_sources_are_read_at_all() -> None:
    assert len(FILES) > 50
    assert len(imports()) > 300
    assert any(one.module == "chatsvc.app" and not one.at_the_top for one in imports())


def test_every_file_lives_in_a_room_of_the_house() -> None:
    assert {room_of(path.relative_to(ROOT).as_posix()) for path in FILES} <= REACH.keys()


def test_every_room_imports_only_what_it_may() -> None:
    wrong = []
    for one in imports():
        if one.top != "chatsvc":
            continue
        here, there = room_of(one.file), room_of(one.module)
        if there not in REACH[here] | {here}:
            wrong.append(str(one))
    assert wrong == []


def test_the_rooms_stand_on_one_another_without_a_circle() -> None:
    def below(room: str, seen: tuple[str, ...] = ()) -> None:
        assert room not in seen, " -> ".join((*seen, room))
        for other in REACH[room]:
            below(other, (*seen, room))

    for room in REACH:
        below(room)


def test_each_library_is_used_where_it_belongs_and_nowhere_else() -> None:
    wrong = []
    for one in imports():
        if one.top == "chatsvc" or (one.top in sys.stdlib_module_names and one.top != "sqlite3"):
            continue
        if not within(one.file, LIBRARIES.get(one.top, set())):
            wrong.append(str(one))
    assert wrong == []


# Private names of libraries that are used all the same, each with its reason where it stands.
PRIVATE = {"tls/server_tls.py: _msg_callback"}


def test_no_private_name_of_a_library_is_used() -> None:
    own, used = {"_asdict", "_replace", "_fields", "_exit"}, []  # of named tuples and of os: these are public
    for path in FILES:
        file = path.relative_to(ROOT).as_posix()
        for node in ast.walk(tree(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                own.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                own.add(node.id)
            elif isinstance(node, ast.Attribute) and is_private(node.attr):
                is_own = isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"
                own.update({node.attr} if is_own else ())
                used.append((file, node.attr))
    private = {f"{file}: {name}" for file, name in used if name not in own and file != "store/sqlite/thread.py"}
    private |= {str(one) for one in imports() if one.top != "chatsvc" and any(map(is_private, [*one.module.split("."), *one.names]))}
    assert private == PRIVATE


# The modules that aiohttp's documentation lists.
DOCUMENTED = {"aiohttp", "aiohttp.abc", "aiohttp.hdrs", "aiohttp.typedefs", "aiohttp.web"}


def modules_of(library: str) -> set[str]:
    """The modules of an installed library."""
    return {library} | {f"{library}.{module.name}" for module in iter_modules(import_module(library).__path__)}


def test_only_documented_modules_of_aiohttp_are_used() -> None:
    """Its parser, protocols and connectors have names without underscores, and change with every release."""
    used = {
        (one.file, name) for one in imports() if one.top == "aiohttp" for name in (one.module, *(f"aiohttp.{each}" for each in one.names))
    }
    for path in FILES:
        attributes = {ast.unparse(node) for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute)}
        used |= {(path.relative_to(ROOT).as_posix(), name) for name in attributes}
    hidden = modules_of("aiohttp") - DOCUMENTED
    assert {"aiohttp.http", "aiohttp.http_parser", "aiohttp.base_protocol", "aiohttp.client_proto"} <= hidden
    # No documented name says which parser is in use, and the program is to refuse the weaker one.
    assert {(file, name) for file, name in used if name in hidden} == {("web/listeners.py", "aiohttp.http_parser")}


def is_private(name: str) -> bool:
    """Whether a name is private by its spelling."""
    return name.startswith("_") and not name.endswith("__")


def test_every_module_that_is_named_in_a_text_exists() -> None:
    """Commands are imported by name."""
    named = re.compile(r"(chatsvc(?:\.[a-z_]+){2,})(?::([A-Za-z_]+))?")
    missing, found = [], 0
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str) and (match := named.fullmatch(node.value))):
                continue
            found += 1
            try:
                module = import_module(match[1])
            except ModuleNotFoundError:
                missing.append(f"{file.relative_to(ROOT)}: {node.value}")
                continue
            if match[2] and not hasattr(module, match[2]):
                missing.append(f"{file.relative_to(ROOT)}: {node.value}")
    assert found > len(COMMANDS)
    assert missing == []


# Imported by the commands that need them, inside their functions.
LATE = {"cli/listener.py", "cli/forwarder.py"}


def test_the_command_line_imports_the_service_only_when_it_is_to_run() -> None:
    heavy = {"chatsvc.app", "aiohttp", "uvloop"}
    assert [
        str(one) for one in imports() if one.file.startswith("cli/") and one.module in heavy and one.at_the_top and one.file not in LATE
    ] == []


def test_the_model_providers_library_is_loaded_by_one_module_that_is_never_imported_at_the_start() -> None:
    """The module takes a second to import: the engine imports it by its name, in a thread."""
    loaded = [one for one in imports() if one.top in {"anthropic", "httpx2"} and one.at_the_top]
    assert {one.file for one in loaded} == {"engines/anthropic/client.py"}
    users = [one for one in imports() if one.module == "chatsvc.engines.anthropic.client" and one.at_the_top]
    assert users == []


def test_metrics_are_loaded_where_they_are_asked_for() -> None:
    outside = [one for one in imports() if room_of(one.module) == "metrics" and room_of(one.file) != "metrics"]
    assert outside
    assert [str(one) for one in outside if one.at_the_top] == []


def test_the_domain_does_no_input_or_output() -> None:
    inside = [one for one in imports() if one.file.startswith("domain/")]
    assert [str(one) for one in inside if one.top in NO_INPUT_OR_OUTPUT] == []
    for path in (ROOT / "domain").rglob("*.py"):
        used = {
            ast.unparse(node) for node in ast.walk(tree(path)) if isinstance(node, ast.Attribute) and ast.unparse(node).startswith("os.")
        }
        assert used <= {"os.urandom"}, path
        assert not [
            node for node in ast.walk(tree(path)) if isinstance(node, ast.Call) and ast.unparse(node.func) in {"open", "print", "input"}
        ]


def test_skins_know_of_the_store_only_that_it_can_fail() -> None:
    skins = [one for one in imports() if room_of(one.file) in {"api", "cli", "channels", "dashboard"} and room_of(one.module) == "store"]
    assert skins
    assert [str(one) for one in skins if not one.names or not set(one.names) <= FAULTS_OF_THE_STORE] == []


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("anthropic", "knowledge"),
        ("knowledge", "anthropic"),
        ("knowledge/search", "knowledge.dialogue"),
    ],
)
def test_the_parts_of_the_engines_import_in_one_direction(here: str, there: str) -> None:
    inside = [one for one in imports() if one.file.startswith(f"engines/{here}/")]
    assert inside
    assert [str(one) for one in inside if one.module.startswith(f"chatsvc.engines.{there}")] == []


# Names of tables, record kinds, options and JSON fields outside of chatsvc/platforms, which are contracts, and the list of names.
NAMES_PLATFORMS = {
    *("domain/channels.py", "domain/transfer.py", "config/notices.py", "cli/main.py", "cli/operation_commands.py"),
    *("store/callbacks.py", "store/platforms.py", "store/search.py", "store/tables.py"),
}


def test_a_platform_is_named_in_its_folder_and_in_contracts_alone() -> None:
    assert domain_channels.PLATFORMS.keys() == PLATFORMS.keys() == {one.name for one in PLATFORMS.values()}
    named = re.compile("|".join(PLATFORMS), re.IGNORECASE)
    found = {path.relative_to(ROOT).as_posix() for path in FILES if named.search(path.read_text("utf-8"))}
    assert {one for one in found if not one.startswith("platforms/")} == NAMES_PLATFORMS


def test_no_module_of_ours_is_a_drawer_for_everything() -> None:
    assert [path.name for path in FILES if path.stem in {"utils", "util", "helpers", "common", "misc"}] == []


def test_no_two_classes_share_a_name() -> None:
    files: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                files.setdefault(node.name.lstrip("_"), []).append(path.relative_to(ROOT).as_posix())
    assert {name: found for name, found in files.items() if len(found) > 1} == {}


RIDDLES = re.compile(r"(What|Who|Whoever|Whom|Whose|Where|Those|That which|How many)\b")
MOST_WORDS = 20


def docstrings() -> Iterator[tuple[str, str]]:
    """Every docstring with its place, tests and scripts included. Those of commands are help texts."""
    for path in (*FILES, *(ROOT.parent / "tests").rglob("*.py"), *(ROOT.parent / "scripts").rglob("*.py")):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                decorators = [] if isinstance(node, ast.Module) else [ast.unparse(one) for one in node.decorator_list]
                text = ast.get_docstring(node)
                if text and not any(re.search(r"\b(command|group)\b", one) for one in decorators):
                    yield f"{path.relative_to(ROOT.parent)}:{getattr(node, 'lineno', 1)}", text


def test_docstrings_begin_with_a_short_sentence_that_is_no_riddle() -> None:
    """A sentence ends at a full stop or colon before a blank."""
    texts = list(docstrings())
    assert len(texts) > 2000
    assert [place for place, text in texts if RIDDLES.match(text)] == []
    assert [place for place, text in texts if len(re.split(r"(?<=[.!?:])\s|\n\n", text)[0].split()) > MOST_WORDS] == []


PACKAGED = {("client.py", "click.echo"), ("help.py", "click.echo"), ("help.py", "click.echo_via_pager")}


def test_commands_print_through_the_one_function_that_escapes() -> None:
    """Control characters pass `click.echo` and `print`. The exceptions print the progress line and packaged texts."""
    printing = {"print", "click.echo", "click.secho", "click.echo_via_pager", "sys.stdout.write", "sys.stderr.write"}
    found = {
        (path.name, ast.unparse(node.func))
        for path in (ROOT / "cli").rglob("*.py")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in printing
    }
    assert found == {("output.py", "click.echo"), ("progress.py", "print"), *PACKAGED}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_a_coroutine_function_over_services_with_named_arguments(name: str) -> None:
    operation = find(name).function()
    assert inspect.iscoroutinefunction(operation)
    services, caller, *others = inspect.signature(operation).parameters.values()
    assert [getattr(one.annotation, "__name__", one.annotation) for one in (services, caller)] == ["Services", "Caller"]
    assert (services.name, caller.name) in {("services", "caller"), ("services", "_")}
    assert {one.kind for one in others} <= {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}
    assert inspect.getdoc(operation)


def test_an_operation_that_does_not_exist_is_refused() -> None:
    for name in ("nonsense", "", "account", "accounts.create", "__init__.x"):
        with pytest.raises(Refused, match="operation_unknown"):
            find(name)


# The others are called by a command as well.
BY_THE_DASHBOARD_ALONE = {name for name, operation in OPERATIONS.items() if operation.role is None} | {
    "bot.try",
    "closed.add",
    "closed.remove",
    "inbox.appointments",
    "inbox.drafts",
    "inbox.find",
    "request.decide",
    "knowledge.compare",
    "knowledge.import",
    "knowledge.lint",
    "knowledge.preview",
    "knowledge.remove_source",
    "knowledge.set",
    "knowledge.show",
    "knowledge.split",
    "site.preview",
    "test.add",
    "test.show",
    "test.remove",
    "unanswered.add",
    "unanswered.answer",
    "unanswered.list",
    "webhook.attempt",
    "backup.list",
    "backup.read",
    "doctor.run",
    "conversation.find",
    "visitor.list",
    "visitor.set",
    "conversation.label",
    "conversation.labels",
    "conversation.reopen",
    "conversation.snooze",
    "conversation.rows",
    "conversation.see",
    "conversation.view",
    "doctor.show",
    "inbox.assignees",
    "inbox.list",
    "license.list",
    "metrics.show",
    "system.show",
    "conversation.type",
    "today",
}


def test_every_result_has_its_json_and_every_list_is_paged() -> None:
    assert RENDERERS.keys() == OPERATIONS.keys() - BY_THE_DASHBOARD_ALONE
    for name, operation in OPERATIONS.items():
        returned = str(inspect.signature(operation.function()).return_annotation)
        paged = "ResultPage[" in returned
        assert paged == (
            {"limit", "after"} <= inspect.signature(operation.function()).parameters.keys()
            and "Resent" not in returned
            and name != "webhook.events"
        )


def operations_called() -> Iterator[tuple[str, set[str]]]:
    """The operations called by the command line, with their arguments' names. None stands for `**`."""
    for path in (*(ROOT / "cli").glob("*.py"), *(ROOT / "doctor").glob("*.py")):
        for node in ast.walk(tree(path)):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) in {"call", "call_all", "pages", "client.call", "client.ask"}
                and isinstance(node.args[1], ast.Constant)
            ):
                yield str(node.args[1].value), {keyword.arg for keyword in node.keywords if keyword.arg} - {"most"}
    for name in COMMANDS:
        for command in commands_of(chatsvc_command.get_command(click.Context(chatsvc_command), name)):
            if isinstance(command, CatalogueCommand) and command.operation:
                sent = {one.name for one in command.params if "Confirm" not in (getattr(one, "help", None) or "")}
                yield command.operation, {one for one in sent if one} - {"as_json", "limit", "pull"}


def commands_of(command: click.Command | None) -> Iterator[click.Command]:
    """A command and those in it."""
    if command is not None:
        yield command
    if isinstance(command, click.Group):
        for one in command.commands.values():
            yield from commands_of(one)


def test_every_operation_is_called_by_a_command_and_with_arguments_that_it_has() -> None:
    called = dict(operations_called())
    assert called.keys() == OPERATIONS.keys() - BY_THE_DASHBOARD_ALONE
    for name, arguments in called.items():
        parameters = inspect.signature(find(name).function()).parameters.values()
        if not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
            assert arguments <= {one.name for one in parameters}, name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_is_there_under_its_name(name: str) -> None:
    module, _, attribute = COMMANDS[name][0].partition(":")
    assert getattr(import_module(module), attribute).name == name


LOADED = """
import json, sys
from chatsvc.cli.main import main
main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)))
"""
HEAVY = {"aiohttp", "anthropic", "cryptography", "httpx2", "jinja2", "multidict", "orjson", "psycopg", "uvloop"}


@pytest.mark.parametrize("command", [["account", "create", "Acme"], ["key", "create"], ["key", "list"], ["account", "list"], ["usage"]])
def test_a_light_command_imports_neither_http_nor_cryptography(tmp_path: Path, command: list[str]) -> None:
    def loaded(*arguments: str) -> set[str]:
        line = [sys.executable, "-c", LOADED, *arguments]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True)
        return {str(name) for name in json.loads(done.stdout.splitlines()[-1])}

    (tmp_path / "config.yaml").write_text("")
    loaded("account", "create", "the only one") if command != ["account", "create", "Acme"] else None
    modules = loaded(*command)
    assert "chatsvc.control.client" in modules
    assert {name.split(".")[0] for name in modules} & HEAVY == set()
    assert [
        name for name in modules if name.startswith(("chatsvc.api", "chatsvc.app", "chatsvc.dashboard", "chatsvc.engines.anthropic"))
    ] == []


class Sql(ast.NodeVisitor):
    """Finds statements given to SQLite and checks that they are made of fixed texts.

    Fixed are literals, constants of the module (in capitals), what `assign` has checked, what `at_once` repeats, and what is
    put together of these.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.scopes: list[ast.AST] = []
        self.wrong: list[str] = []
        self.seen = 0
        self.visit(tree(path))

    def generic_visit(self, node: ast.AST) -> None:
        """Keep account of the functions around."""
        is_scope = isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef)
        if is_scope:
            self.scopes.append(node)
        super().generic_visit(node)
        if is_scope:
            self.scopes.pop()

    def visit_Call(self, node: ast.Call) -> None:
        """Look at execute, executemany and executescript, at what at_once repeats and at both statements of change_any."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in {"execute", "executemany", "executescript"}:
            self.seen += 1
            if not self.fixed(node.args[0]):
                self.wrong.append(f"{self.path.name}:{node.lineno}: {ast.unparse(node.args[0])}")
        if isinstance(node.func, ast.Attribute) and node.func.attr == "at_once":
            begin, each, _, *end = node.args
            self.wrong += [f"{self.path.name}:{node.lineno}: {ast.unparse(part)}" for part in (begin, each, *end) if not self.fixed(part)]
        if isinstance(node.func, ast.Name) and node.func.id == "change_any":
            self.seen += 1
            parts = (node.args[1], node.args[3])
            self.wrong += [f"{self.path.name}:{node.lineno}: {ast.unparse(part)}" for part in parts if not self.fixed(part)]
        self.generic_visit(node)

    def fixed(self, node: ast.expr) -> bool:
        """Whether a text cannot hold data."""
        match node:
            case ast.Constant() | ast.Call(func=ast.Name(id="assign" | "_repeated")):
                return True
            case ast.Name():
                return node.id.isupper() or self.name_is_fixed(node.id)
            case ast.JoinedStr(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
                return all(map(self.fixed, parts))
            case ast.IfExp(body=one, orelse=other) | ast.BinOp(op=ast.Add(), left=one, right=other):
                return self.fixed(one) and self.fixed(other)
            case ast.BinOp(op=ast.Mult(), left=inner) | ast.Subscript(value=inner) | ast.FormattedValue(value=inner):
                return self.fixed(inner)  # so many question marks, part of a fixed list
            case ast.Call(func=ast.Name(id="enumerate") | ast.Attribute(value=ast.Constant(), attr="join"), args=[inner, *_]):
                return self.fixed(inner)
            case _:
                return False

    def name_is_fixed(self, name: str) -> bool:
        """Report whether every binding of a name is a fixed text."""
        for scope in reversed(self.scopes):
            bound = [value for inner in ast.walk(scope) for value in bindings(inner, name)]
            if bound:
                return all(value is not None and self.fixed(value) for value in bound)
        return False


def bindings(node: ast.AST, name: str) -> Iterator[ast.expr | None]:
    """The expressions bound to a name. None for a parameter and other unknown bindings."""
    if isinstance(node, ast.arg) and node.arg == name:
        yield None
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            yield from of_target(target, node.value, name)
    elif isinstance(node, ast.For | ast.comprehension) and name in {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}:
        yield node.iter


def of_target(target: ast.expr, value: ast.expr | None, name: str) -> Iterator[ast.expr | None]:
    """The value for one target of an assignment. Tuples are taken apart."""
    if isinstance(target, ast.Name) and target.id == name:
        yield value
    elif isinstance(target, ast.Tuple):
        for at, inner in enumerate(target.elts):
            if isinstance(inner, ast.Name) and inner.id == name:
                for choice in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
                    yield choice.elts[at] if isinstance(choice, ast.Tuple) else None


# The connection to PostgreSQL is called like SQLite's, translates what it is given and passes it on.
PASSED_ON = {"text", "statement", "script.encode()", "_of_arrays(begin, each, end, types)"}
# `change_any` runs its parameters of these names. What its callers pass is looked at where they call it.
GIVEN = {"find", "change"}


def test_no_sql_is_made_of_data() -> None:
    driver, database = ROOT / "store" / "postgres" / "connection.py", ROOT / "store" / "database.py"
    execution, migrations = driver.with_name("execution.py"), ROOT / "store" / "sqlite" / "migrations.py"
    found = [Sql(path) for path in (ROOT / "store").rglob("*.py") if path not in (driver, database, execution, migrations)]
    assert sum(one.seen for one in found) > 50
    assert [wrong for one in found for wrong in one.wrong] == []
    assert {wrong.split(": ")[1] for wrong in Sql(driver).wrong} == PASSED_ON
    assert {wrong.split(": ")[1] for wrong in Sql(execution).wrong} == {"text"}
    assert {wrong.split(": ")[1] for wrong in Sql(migrations).wrong} == {"step", "script"}  # from schema.sql
    assert {wrong.split(": ")[1] for wrong in Sql(database).wrong} == GIVEN


@pytest.mark.parametrize(
    ("text", "holds_data"),
    [
        ('connection.execute("SELECT 1 WHERE a = ?", (a,))', False),
        ('connection.execute(f"SELECT {_COLUMNS} FROM x")', False),
        ('connection.execute(f"SELECT {a} FROM x")', True),
        ('connection.execute("SELECT %s" % a)', True),
        ('connection.execute("SELECT {}".format(a))', True),
        ('connection.execute("SELECT " + a)', True),
        ('where = "b" if a else "c"; connection.execute("SELECT " + where)', False),
        ('where = "b" if a else a; connection.execute("SELECT " + where)', True),
        ('marks = ", ".join("?" * len(a)); connection.execute(f"SELECT {marks}")', False),
        ('names = ", ".join(a); connection.execute(f"SELECT {names}")', True),
        ('names = ", ".join(f"{n} = ?" for n in a); connection.execute(f"SELECT {names}")', True),
        ("names = assign(a, CHANGEABLE); connection.execute(f'UPDATE x SET {names}')", False),
        ("b, c = ('x', a) if a else ('y', a); connection.execute(f'SELECT {b}')", False),
        ("b, c = ('x', a) if a else ('y', a); connection.execute(f'SELECT {c}')", True),
        ("connection.executescript(a)", True),
        ("for s in _SWEEP: connection.execute(s)", False),
        ("for s in a: connection.execute(s)", True),
    ],
)
def test_the_check_of_sql_itself_knows_data_from_fixed_texts(tmp_path: Path, text: str, holds_data: bool) -> None:
    file = tmp_path / "module.py"
    file.write_text(f"def unit(connection, a):\n    {text}\n")
    assert bool(Sql(file).wrong) is holds_data


def test_sqlite_stays_in_the_store_and_its_tests() -> None:
    """Else the second store behind the same operations would have to change their callers."""
    tests, drivers = Path(__file__).parent, {"sqlite3", "aiosqlite"}
    wrong = []
    for path in sorted(tests.rglob("*.py")):
        inside = path.relative_to(tests).as_posix()
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Import) and drivers & {alias.name for alias in node.names}:
                wrong.append(inside)
            if isinstance(node, ast.ImportFrom) and node.module in drivers:
                wrong.append(inside)
    assert [one for one in wrong if not one.startswith("store/")] == []
    assert wrong


def test_the_driver_of_postgresql_is_chosen_in_one_place_and_loaded_where_it_is_used() -> None:
    """SQLite's users pay neither its start time nor its memory."""
    users = [one for one in imports() if one.module.startswith("chatsvc.store.postgres") and not one.file.startswith("store/postgres/")]
    assert {one.file for one in users} == {"services/operations/stores.py"}
    # Types alone at the top.
    assert [str(one) for one in users if one.at_the_top] == []


# Statements that PostgreSQL cannot be given, and reads of what SQLite alone says after them.
NOT_PORTABLE = re.compile(r"\bINSERT OR\b|\bREPLACE INTO\b|\bON CONFLICT\s+DO UPDATE\b|\b(NOT NULL|UNIQUE|KEY) ON CONFLICT\b")


def not_portable(path: Path) -> list[str]:
    """The places of a module of the store whose SQL is SQLite's alone."""
    found = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and NOT_PORTABLE.search(node.value):
            found.append(f"{path.name}:{node.lineno}: {NOT_PORTABLE.search(node.value)[0]}")  # type: ignore[index]
        if isinstance(node, ast.Attribute) and node.attr in {"lastrowid", "total_changes"}:
            found.append(f"{path.name}:{node.lineno}: {node.attr}")
    return found


def test_the_sql_of_the_store_is_read_by_both_stores() -> None:
    outside = [path for path in (ROOT / "store").rglob("*.py") if "sqlite" not in path.relative_to(ROOT).parts]
    assert len(outside) > 20
    assert [place for path in outside for place in not_portable(path)] == []


@pytest.mark.parametrize(
    ("text", "is_portable"),
    [
        ('c.execute("INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET a = excluded.a RETURNING number").fetchone()', True),
        ('c.execute("INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING")', True),
        ('c.execute("INSERT OR IGNORE INTO t VALUES (1)")', False),
        ('c.execute("INSERT OR REPLACE INTO t VALUES (1)")', False),
        ('c.execute("REPLACE INTO t VALUES (1)")', False),
        ('c.execute("INSERT INTO t VALUES (1) ON CONFLICT\\n DO UPDATE SET a = 1")', False),
        ('c.execute(f"INSERT OR IGNORE INTO {T} VALUES (1)")', False),
        ('c.execute("INSERT INTO t VALUES (1)").lastrowid', False),
    ],
)
def test_the_check_of_portable_sql_itself_knows_what_sqlite_alone_reads(tmp_path: Path, text: str, is_portable: bool) -> None:
    file = tmp_path / "module.py"
    file.write_text(text)
    assert (not_portable(file) == []) is is_portable


def test_units_of_work_are_made_in_the_store_alone() -> None:
    """Use-cases call named operations: neither SQL nor a connection is theirs."""
    wrong = []
    for path in FILES:
        inside = path.relative_to(ROOT).as_posix()
        calls = [node for node in ast.walk(tree(path)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
        if not inside.startswith("store/"):
            wrong += [
                f"{inside}:{node.lineno}" for node in calls if re.fullmatch(r"(.*\.)?_?(db|database)\.(read|write)", ast.unparse(node.func))
            ]
    assert wrong == []
