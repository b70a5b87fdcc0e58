"""Mutation testing: one small fault at a time is put into a module, and the tests that matter must notice it.

A mutant that every test lets pass is a survivor: a behaviour that no test states. Each runs in a copy of the tree, forked off a
process that has the heavy third-party packages loaded already. See scripts/mutate.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("chatsvc", "tests", "pyproject.toml", "README.md", "config.example.yaml")
LOADED = ("aiohttp", "aiosqlite", "cryptography.hazmat.primitives.ciphers.aead", "hypothesis", "orjson", "pytest", "yarl", "yaml")
QUIET = "ignore::pytest.PytestAssertRewriteWarning"  # hypothesis is loaded before pytest could look into it
SLOWEST = 5.0  # a mutant is dead, too, when it takes so many times as long as the tests do without one


@dataclass(frozen=True)
class Module:
    """A module with the tests that hold it, the quickest first; `only` are the functions that count, all where there is none."""

    tests: tuple[str, ...]
    only: tuple[str, ...] = ()


MODULES = {
    "chatsvc/api/gates.py": Module(("tests/api/test_gates.py", "tests/api/test_rate_limit.py", "tests/api/test_errors.py")),
    "chatsvc/domain/allowance.py": Module(("tests/unit/test_allowance.py",)),
    "chatsvc/domain/limiter.py": Module(("tests/unit/test_limiter.py",)),
    "chatsvc/domain/targets.py": Module(("tests/webhooks/test_targets.py",)),
    "chatsvc/domain/addresses.py": Module(("tests/webhooks/test_targets.py",)),
    "chatsvc/domain/signing.py": Module(("tests/webhooks/test_signing.py",)),
    "chatsvc/domain/cursors.py": Module(("tests/unit/test_cursors.py",)),
    "chatsvc/domain/keys.py": Module(("tests/unit/test_keys.py",)),
    "chatsvc/domain/pricing.py": Module(("tests/unit/test_pricing.py",)),
    "chatsvc/domain/captures.py": Module(
        ("tests/unit/test_captures.py", "tests/api/test_captures.py::test_a_conversation_captures_five_requests_a_day")
    ),
    "chatsvc/domain/contacts.py": Module(("tests/unit/test_captures.py",)),
    # Without what takes long because it tries the same again and again.
    "chatsvc/webhooks/delivery.py": Module(
        ("tests/webhooks/test_connector.py", "-k", "not (uvloop or thousand or meanwhile or turns_to or many or certif)")
    ),
    "chatsvc/usecases/messages.py": Module(
        ("tests/api/test_allowance.py", "tests/api/test_messages.py", "tests/api/test_idempotency.py"),
        ("_join", "_answer_once", "_answer", "_accept", "_record"),
    ),
}

_OPAQUE = "the inside of a cursor is nobody's business: it is bound and authenticated as before"
_UNPADDED = "36 bytes are 48 characters of base64: there is no padding to take away or to add"
_DECODED = 'base64.b64decode(cursor.encode("ascii")'
_UNREACHABLE = "says that a gate is missing, which no request can bring about"
_AS_IT_IS = '"%/:@!$&\'()*+,;=?~"'
_CURSORS, _LIMITER, _GATES = "chatsvc/domain/cursors.py", "chatsvc/domain/limiter.py", "chatsvc/api/gates.py"
_LOST = 'line is not None and dial.reused and error == "connection_lost"'
_DELIVERY, _TARGETS = "chatsvc/webhooks/delivery.py", "chatsvc/domain/targets.py"
# Mutants that change nothing anybody could see: module, a piece of the line, before, after, why.
ACCEPTED = (
    (_CURSORS, "_POSITION = ", '">qqI"', "'>qqIx'", _OPAQUE),
    (_CURSORS, "_MAC_BYTES = ", "16", "17", _OPAQUE),
    (_CURSORS, "parts = ", 'b"-"', "b'-x'", _OPAQUE),
    (_CURSORS, "parts = ", 'b":"', "b':x'", _OPAQUE),
    (_CURSORS, ".join(parts)", 'b"|"', "b'|x'", _OPAQUE),
    (
        _CURSORS,
        ".rstrip(",
        '"="',
        "'=x'",
        "an x at the end is left out, and missed neither where a cursor is read nor where it is compared",
    ),
    (_CURSORS, _DECODED, 'b"="', "b'=x'", _UNPADDED),
    (_CURSORS, _DECODED, "-len(cursor)", "(len(cursor))", _UNPADDED),
    (_CURSORS, _DECODED, "-len(cursor) % 4", "(-len(cursor) * 4)", _UNPADDED),
    (_CURSORS, _DECODED, "4", "5", _UNPADDED),
    (_CURSORS, _DECODED, "True", "False", "a cursor with other characters in it is refused where it is compared as text"),
    (_GATES, "raise", 'raise RuntimeError("an operation was reached without passing the gates")', "pass", _UNREACHABLE),
    (_GATES, "raise", 'raise RuntimeError("a gate was reached before the key was checked")', "pass", _UNREACHABLE),
    (_LIMITER, "self._window = 0", "0", "1", "the first request turns the window, but in the second minute of 1970"),
    (_DELIVERY, "self.idle_since = 0.0", "self.idle_since = 0.0", "pass", "whoever asks for it has set it before"),
    (
        _DELIVERY,
        "line.idle_since >= KEEP_S",
        "loop.time() - line.idle_since >= KEEP_S",
        "(loop.time() - line.idle_since > KEEP_S)",
        "no clock comes to the same moment twice",
    ),
    (
        _DELIVERY,
        "read_until_eof",
        "True",
        "False",
        "aiohttp's parser in C closes after an answer without a length anyway; that in Python does not",
    ),
    (_DELIVERY, "ClientRequest", '"POST"', "'POSTx'", "what is sent is the head; the request only leads to a connection"),
    (
        _DELIVERY,
        "if protocol is None",
        "protocol is None or transport is None",
        "(transport is None)",
        "without the one there is none of the other",
    ),
    (_DELIVERY, "line is not None and dial", _LOST, "(dial.reused and error == 'connection_lost')", "no connection without its line"),
    (_TARGETS, "_AS_IT_IS = ", _AS_IT_IS, _AS_IT_IS[:-1] + 'x"', "a letter goes out as it is anyway"),
)

_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_FUNCTIONS = {"max": "min", "min": "max", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """One fault: the source bytes from `start` to `end` become `after`."""

    module: str
    line: int
    start: int
    end: int
    before: str
    after: str
    code: str

    @property
    def accepted(self) -> str | None:
        """Why the mutant is none, where it has been looked at and found to change nothing."""
        for module, piece, before, after, why in ACCEPTED:
            if (module, before, after) == (self.module, self.before, self.after) and piece in self.code:
                return why
        return None

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {_short(self.before)}  ->  {_short(self.after)}"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 110 else flat[:110] + "..."


# -- making mutants -----------------------------------------------------------------------------------------------------


def mutants(module: str) -> list[Mutant]:
    """Every mutant of a module."""
    source = (ROOT / module).read_bytes()
    lines, starts = source.splitlines(keepends=True), [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    found: dict[tuple[int, int, str], Mutant] = {}
    only = MODULES[module].only
    for node, after in _changes(ast.parse(source), ()):
        if only and not any(name in only for name in getattr(node, "inside", ())):
            continue
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before = source[start:end].decode()
        made = Mutant(module, node.lineno, start, end, before, after, lines[node.lineno - 1].decode())
        with contextlib.suppress(SyntaxError):
            compile(mutated(source, made), module, "exec")
            found.setdefault((start, end, after), made)
    return sorted(found.values(), key=lambda m: (m.start, m.end))


def mutated(source: bytes, mutant: Mutant) -> bytes:
    """The module with the fault in it."""
    return source[: mutant.start] + mutant.after.encode() + source[mutant.end :]


Changed = Iterator[tuple[ast.stmt | ast.expr, str]]


def _changes(node: ast.AST, inside: tuple[str, ...]) -> Changed:
    """Each place below `node` with what may stand there instead. `inside` are the functions and classes around it."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        inside = (*inside, node.name)
    for name, value in ast.iter_fields(node):
        # Types, the names of a module and the texts of errors are not what is tested here.
        if name in {"annotation", "returns", "decorator_list", "type_params"} or _is_declaration(node):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr):
                continue
            if isinstance(child, ast.stmt | ast.expr):
                child.inside = inside  # type: ignore[union-attr]  # for `mutants`
                yield from ((child, after) for after in (*_statement(child), *_operation(child), *_value(child)))
            if name == "test" and isinstance(child, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
                yield child, _text(ast.UnaryOp(ast.Not(), child))
            elements = _elements(child)
            # One that is there twice stands for one that is missing; to change its text would be the same fault again.
            yield from ((each, _text(elements[n - 1])) for n, each in enumerate(elements) if len(elements) > 1)
            if not isinstance(child, ast.Raise) and not (elements and isinstance(child, ast.Tuple | ast.Set)) and not _network(child):
                yield from _changes(child, inside)


def _is_declaration(node: ast.AST) -> bool:
    names = [target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name)]
    typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return typing or docstring or bool({"__all__", "__slots__"} & set(names)) or isinstance(node, ast.Import | ast.ImportFrom)


def _statement(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Return(value=value) if value is not None and ast.unparse(value) != "None":
            yield "return None"
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Raise() | ast.AugAssign() | ast.Delete() | ast.Continue() | ast.Break():
            yield "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield "pass"
    if isinstance(node, ast.AugAssign) and type(node.op) in _OPERATORS:
        other = _OPERATORS[type(node.op)]()
        yield ast.unparse(ast.AugAssign(node.target, other, node.value))


def _operation(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Compare(left=left, ops=[*ops], comparators=[*others]):
            for n, op in enumerate(ops):
                for other in _COMPARISONS[type(op)]:
                    yield _text(ast.Compare(left, [*ops[:n], other(), *ops[n + 1 :]], others))
        case ast.BoolOp(op=op, values=values):
            yield _text(ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values))
            for n in range(len(values)):
                rest = values[:n] + values[n + 1 :]
                yield _text(rest[0] if len(rest) == 1 else ast.BoolOp(op, rest))
        case ast.UnaryOp(operand=operand):
            yield _text(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            yield _text(ast.BinOp(left, _OPERATORS[type(op)](), right))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in _FUNCTIONS:
            yield _text(ast.Call(ast.Name(_FUNCTIONS[name]), args, keywords))


def _value(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value)):
            yield str(value + 1)
        case ast.Constant(value=str(value)) if " " not in value:  # else it is a sentence for people
            yield repr(value + "x")
        case ast.Constant(value=bytes(value)):
            yield repr(value + b"x")
        case ast.Tuple(elts=[_, *more]) if (network := _network(node)) and network.prefixlen < network.max_prefixlen:
            yield _text(ast.Tuple([ast.Constant(f"{network.network_address}/{network.prefixlen + 1}"), *more]))


def _elements(node: ast.AST) -> list[ast.expr]:
    """What a literal collection or a table of rows is made of."""
    match node:
        case ast.Tuple(elts=elements) | ast.Set(elts=elements) if all(isinstance(each, ast.Constant) for each in elements):
            return [] if _network(node) else elements
        case ast.Call(args=[ast.Tuple(), ast.Tuple(), *_] as rows):
            return rows
        case _:
            return []


def _network(node: ast.AST) -> IPv4Network | IPv6Network | None:
    """The network with which a row begins."""
    match node:
        case ast.Tuple(elts=[ast.Constant(value=str(text)), *_]) if "/" in text:
            with contextlib.suppress(ValueError):
                return ip_network(text)
    return None


def _text(node: ast.expr) -> str:
    return f"({ast.unparse(node)})"


# -- running tests ------------------------------------------------------------------------------------------------------


@dataclass
class Copy:
    """A copy of the tree in which one process tries its mutants."""

    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="mutation-")))

    def __post_init__(self) -> None:
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, self.folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, self.folder / name)

    def passes(self, module: str, limit_s: float, *, keep_bytecode: bool = False) -> bool:
        """Whether the module's tests pass, in a process of their own and in time."""
        child = os.fork()
        if child == 0:
            _test(self.folder, MODULES[module].tests, keep_bytecode=keep_bytecode)
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status) == 0
            time.sleep(0.02)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return False


def _test(folder: Path, tests: tuple[str, ...], *, keep_bytecode: bool) -> None:
    """Run tests in `folder` and end this process."""
    os.setsid()
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = not keep_bytecode
    os.environ["CI"] = "1"  # hypothesis tries the same examples every time
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    import pytest

    code = 3
    try:
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no", "-W", QUIET, *tests]))
    finally:
        os._exit(code)


_copy: Copy
_limits: dict[str, float] = {}


def _begin(modules: list[str]) -> None:
    """In each process: load what is heavy, copy the tree, see that the tests pass there and how long that takes."""
    global _copy  # noqa: PLW0603  # the pool gives a process no other place of its own
    for name in LOADED:
        __import__(name)
    _copy = Copy()
    for module in modules:
        _copy.passes(module, 600, keep_bytecode=True)
        begun = time.monotonic()
        if not _copy.passes(module, 600):
            raise SystemExit(f"{module}: its tests fail without any mutant")
        _limits[module] = SLOWEST * (time.monotonic() - begun) + 5
        # A mutant of the same size within the same second would be taken for what was compiled already.
        shutil.rmtree((_copy.folder / module).parent / "__pycache__", ignore_errors=True)


def _try(mutant: Mutant) -> tuple[Mutant, bool]:
    path = _copy.folder / mutant.module
    source = path.read_bytes()
    path.write_bytes(mutated(source, mutant))
    try:
        return mutant, _copy.passes(mutant.module, _limits[mutant.module])
    finally:
        path.write_bytes(source)


def _end(_: int) -> None:
    time.sleep(0.2)
    shutil.rmtree(_copy.folder, ignore_errors=True)


def main() -> int:
    """Try the mutants of the modules named (a part of the path is enough), print the survivors and the score of each module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("-n", "--line", type=int, action="append", help="only the mutants of this line; may be given again")
    parser.add_argument("-l", "--list", action="store_true", help="print the mutants and try none")
    parser.add_argument("modules", nargs="*", help="parts of the modules' paths; all where there is none")
    asked = parser.parse_args()
    modules = [module for module in MODULES if not asked.modules or any(part in module for part in asked.modules)]
    for module in modules:
        made = [mutant for mutant in mutants(module) if asked.line is None or mutant.line in asked.line]
        if asked.list:
            print(*made, sep="\n")
            continue
        begun = time.monotonic()
        accepted = [mutant for mutant in made if mutant.accepted]
        for mutant in accepted:
            print(f"accepted  {mutant}: {mutant.accepted}", flush=True)
        tried = [mutant for mutant in made if not mutant.accepted]
        killed = 0
        with ProcessPoolExecutor(asked.jobs, get_context("fork"), _begin, ([module],)) as pool:
            # Told one by one: a long run that is broken off has said what it found.
            for mutant, passed in pool.map(_try, tried):
                killed += not passed
                if passed:
                    print(f"survived  {mutant}", flush=True)
            list(pool.map(_end, range(asked.jobs)))
        took = f"{time.monotonic() - begun:.0f} s"
        print(f"{module}: {killed} of {len(tried)} killed ({killed / len(tried):.1%}), {len(accepted)} accepted, {took}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
