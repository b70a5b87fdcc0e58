"""Every finding that an examination can have, read from the calls that make them."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from chatsvc.doctor import Finding

CHATSVC = Path(__file__).parents[1] / "chatsvc"
FILES = (
    *(CHATSVC / "doctor").glob("*.py"),
    *(CHATSVC / name for name in ("platforms/telegram/team.py", "services/operations/doctor.py", "cli/doctor.py")),
)


def findings() -> dict[str, Finding]:
    """Return the findings by their codes, each with 7 for all of its facts."""
    every: dict[str, Finding] = {}
    for file in FILES:
        module = ast.parse(file.read_text("utf-8"))
        values = {}
        for node in ast.walk(module):
            if isinstance(node, ast.Dict):
                node.keys = []
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                values[node.targets[0].id] = node.value
        for node in ast.walk(module):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name("Finding"), attr=("ok" | "warning" | "fault") as state),
                    args=[ast.Constant(str(name)), code],
                ):
                    facts = {keyword.arg or "": 7 for keyword in node.keywords}
                    every |= {code: Finding(code, name, state, facts) for code in _texts(code, values)}
    return every


def _texts(node: ast.AST, values: Mapping[str, ast.AST]) -> Iterator[str]:
    """Yield the texts in an expression, and in what its names stand for."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.Name) and part.id in values:
            yield from _texts(values[part.id], values)
