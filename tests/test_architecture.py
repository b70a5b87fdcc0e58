"""Rules of the house that neither import-linter nor ruff (pyproject.toml) can say, read from the sources."""

import ast
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import click
import pytest

import chatsvc
from chatsvc.cli.main import COMMANDS, CatalogueCommand
from chatsvc.cli.main import chatsvc as chatsvc_command
from chatsvc.control.rendering import RENDERERS
from chatsvc.domain import channels
from chatsvc.platforms import PLATFORMS
from chatsvc.services.administration import OPERATIONS
from tests.tables import rows

pytestmark = pytest.mark.no_cover  # the sources are read, hardly anything of them is run

ROOT = Path(chatsvc.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    """Parse a file."""
    return ast.parse(path.read_text("utf-8"), str(path))


def in_package(path: Path) -> str:
    """Return the path of a file below chatsvc/."""
    return path.relative_to(ROOT).as_posix()


DOCUMENTED = {"aiohttp.abc", "aiohttp.hdrs", "aiohttp.typedefs", "aiohttp.web"}


def test_only_documented_modules_of_aiohttp_are_used() -> None:
    """Its parser, protocols and connectors have names without underscores, and change with every release."""
    hidden = {f"aiohttp.{module.name}" for module in iter_modules(import_module("aiohttp").__path__)} - DOCUMENTED
    assert {"aiohttp.http", "aiohttp.http_parser", "aiohttp.client_proto"} <= hidden
    for path in (path for path in FILES if "aiohttp" in path.read_text("utf-8")):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                assert not hidden & {".".join((prefix + alias.name).split(".")[:2]) for alias in node.names}, path
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert f"{node.value.id}.{node.attr}" not in hidden, path


# Names of tables, record kinds, options and JSON fields outside of chatsvc/platforms, which are contracts, and the list of names.
NAMES_PLATFORMS = {
    *("domain/channels.py", "domain/transfer.py", "config/load.py", "cli/main.py", "cli/operation_commands.py"),
    *("store/platforms.py", "store/search_queries.py", "store/tables.py"),
}


def test_a_platform_is_named_in_its_folder_and_in_contracts_alone() -> None:
    assert channels.PLATFORMS.keys() == PLATFORMS.keys() == {platform.name for platform in PLATFORMS.values()}
    named = re.compile("|".join(PLATFORMS), re.IGNORECASE)
    files = {in_package(path) for path in FILES if named.search(path.read_text("utf-8"))}
    assert {file for file in files if not file.startswith("platforms/")} == NAMES_PLATFORMS


def definitions(path: Path) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Find a module, its classes and functions, and those in them."""
    nodes: list[ast.AST] = [tree(path)]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        nodes += [child for name in ("body", "orelse") for child in getattr(node, name, ()) if isinstance(child, ast.stmt)]


def test_no_two_classes_share_a_name() -> None:
    files: dict[str, list[str]] = {}
    for path in FILES:
        for node in definitions(path):
            if isinstance(node, ast.ClassDef):
                files.setdefault(node.name.lstrip("_"), []).append(in_package(path))
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}


RIDDLES = re.compile(r"(What|Who|Whoever|Whom|Whose|Where|Those|That which|How many)\b")
MOST_WORDS = 20


def docstrings() -> Iterator[tuple[str, str]]:
    """Find every docstring with its line, tests and scripts included. Those of commands are help texts."""
    for path in (*FILES, *(ROOT.parent / "tests").rglob("*.py"), *(ROOT.parent / "scripts").rglob("*.py")):
        for node in definitions(path):
            text = ast.get_docstring(node, clean=False)
            decorators = "" if isinstance(node, ast.Module) else " ".join(map(ast.unparse, node.decorator_list))
            if text and not re.search(r"\b(command|group)\b", decorators):
                yield f"{path.relative_to(ROOT.parent)}:{getattr(node, 'lineno', 1)}", text


def test_docstrings_begin_with_a_short_sentence_that_is_no_riddle() -> None:
    """A sentence ends at a full stop or colon before a blank."""
    texts = list(docstrings())
    assert len(texts) > 2000
    assert [line for line, text in texts if RIDDLES.match(text)] == []
    assert [line for line, text in texts if len(re.split(r"(?<=[.!?:])\s|\n\n", text)[0].split()) > MOST_WORDS] == []


RIDDLE_NAMES = {"c", "found", "kept", "made", "one", "place", "said", "told"}


def test_values_of_functions_are_named_by_nouns() -> None:
    names = [
        (in_package(path), node.arg if isinstance(node, ast.arg) else node.id)
        for path in FILES
        for function in ast.walk(tree(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    ]
    assert len(names) > 5000
    assert [(file, name) for file, name in names if name in RIDDLE_NAMES] == []


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_a_coroutine_function_over_services_with_named_arguments(name: str) -> None:
    operation = OPERATIONS[name].function()
    assert inspect.iscoroutinefunction(operation)
    signature = inspect.signature(operation)
    services, caller, *others = signature.parameters.values()
    assert [getattr(each.annotation, "__name__", each.annotation) for each in (services, caller)] == ["Services", "Caller"]
    assert (services.name, caller.name) in {("services", "caller"), ("services", "_"), ("_", "__")}
    assert {each.kind for each in others} <= {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}
    assert inspect.getdoc(operation)
    returned = str(signature.return_annotation)
    is_list = {"limit", "after"} <= signature.parameters.keys() and "Resent" not in returned and name != "webhook.events"
    assert ("ResultPage[" in returned) == is_list, "every list is paged"


def operations_called() -> Iterator[tuple[str, set[str]]]:
    """Find the operations called by the command line, with the names of their arguments."""
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
                sent = {option.name for option in command.params if "Confirm" not in (getattr(option, "help", None) or "")}
                yield command.operation, {option for option in sent if option} - {"as_json", "limit", "pull"}


def commands_of(command: click.Command | None) -> Iterator[click.Command]:
    """Find a command and those in it."""
    if command is not None:
        yield command
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from commands_of(inner)


def test_every_operation_with_json_is_called_by_a_command_and_with_arguments_that_it_has() -> None:
    called = dict(operations_called())
    assert called.keys() == RENDERERS.keys() <= OPERATIONS.keys()
    for name, arguments in called.items():
        parameters = inspect.signature(OPERATIONS[name].function()).parameters.values()
        if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters):
            assert arguments <= {parameter.name for parameter in parameters}, name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_is_there_under_its_name(name: str) -> None:
    command = chatsvc_command.get_command(click.Context(chatsvc_command), name)
    assert command is not None
    assert command.name == name


LOADED = """
import json, sys
from chatsvc.cli.main import main
main(sys.argv[1:])
print(json.dumps(sorted(sys.modules)))
"""
HEAVY = {"aiohttp", "anthropic", "cryptography", "httpx2", "jinja2", "multidict", "orjson", "psycopg", "uvloop"}


def test_a_light_command_imports_neither_http_nor_cryptography(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("")
    for command in (["account", "create", "Acme"], ["key", "create"], ["key", "list"], ["account", "list"], ["usage"]):
        line = [sys.executable, "-c", LOADED, *command]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True)
        modules = set(json.loads(done.stdout.splitlines()[-1]))
        assert "chatsvc.control.client" in modules
        assert {name.split(".")[0] for name in modules} & HEAVY == set()
        own = ("chatsvc.api", "chatsvc.app", "chatsvc.dashboard", "chatsvc.engines.anthropic")
        assert [name for name in modules if name.startswith(own)] == []


class Sql(ast.NodeVisitor):
    """Finds statements given to SQLite and checks that they are made of fixed texts.

    Fixed are literals, constants of the module (in capitals), what `assign` has checked, and what is put together of these.
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
        """Look at execute, executemany and executescript, and at both statements of change_any."""
        if isinstance(node.func, ast.Attribute) and node.func.attr in {"execute", "executemany", "executescript"}:
            self.seen += 1
            if not self.fixed(node.args[0]):
                self.wrong.append(f"{self.path.name}:{node.lineno}: {ast.unparse(node.args[0])}")
        if isinstance(node.func, ast.Name) and node.func.id == "change_any":
            self.seen += 1
            parts = (node.args[1], node.args[3])
            self.wrong += [f"{self.path.name}:{node.lineno}: {ast.unparse(part)}" for part in parts if not self.fixed(part)]
        self.generic_visit(node)

    def fixed(self, node: ast.expr) -> bool:
        """Whether a text cannot hold data."""
        match node:
            case ast.Constant() | ast.Call(func=ast.Name(id="assign")):
                return True
            case ast.Name():
                return node.id.isupper() or self.name_is_fixed(node.id)
            case ast.Attribute(value=ast.Name()):  # a constant of another module
                return node.attr.isupper()
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


# The connection to PostgreSQL is called like SQLite's, translates what it is given and passes it on; migrations run schema.sql; what the
# callers of `change_any` pass is looked at where they call it.
PASSED_ON = {
    "postgres/connection.py": {"text", "statement", "script.encode()"},
    "sqlite/migrations.py": {"step", "script"},
    "database.py": {"find", "change"},
}


def test_no_sql_is_made_of_data() -> None:
    checked = {path.relative_to(ROOT / "store").as_posix(): Sql(path) for path in (ROOT / "store").rglob("*.py")}
    assert sum(module.seen for module in checked.values()) > 50
    wrong = {name: {line.split(": ")[1] for line in module.wrong} for name, module in checked.items() if module.wrong}
    assert wrong == PASSED_ON


@pytest.mark.parametrize(("kind", "text"), rows("sql"))
def test_the_check_of_sql_itself_knows_data_from_fixed_texts(tmp_path: Path, kind: str, text: str) -> None:
    file = tmp_path / "module.py"
    file.write_text(f"def unit(connection, a):\n    {text}\n")
    assert bool(Sql(file).wrong) is (kind == "data")


# Statements that PostgreSQL cannot be given, and reads of what SQLite alone says after them.
NOT_PORTABLE = re.compile(
    r"\bINSERT OR\b|\bREPLACE INTO\b|\bON CONFLICT\s+DO UPDATE\b|\b(NOT NULL|UNIQUE|KEY) ON CONFLICT\b|\.(lastrowid|total_changes)\b"
)


def test_the_sql_of_the_store_is_read_by_both_stores() -> None:
    outside = [path for path in (ROOT / "store").rglob("*.py") if "sqlite" not in path.parts]
    assert len(outside) > 20
    assert [f"{path.name}: {match[0]}" for path in outside for match in NOT_PORTABLE.finditer(path.read_text("utf-8"))] == []


def test_units_of_work_are_made_in_the_store_alone() -> None:
    """Services call named operations: neither SQL nor a connection is theirs. The queue runs several in one transaction."""
    outside = [path for path in FILES if not in_package(path).startswith(("store/", "delivery/queue.py"))]
    assert [in_package(path) for path in outside if re.search(r"\b_?(db|database)\.(read|write)\(", path.read_text("utf-8"))] == []
