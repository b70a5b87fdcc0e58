"""Router: a tree of path segments; `{name}` stands for one segment."""

from collections.abc import Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import unquote

Target = TypeVar("Target")


class NotFound(Exception):
    """No template matches the path."""


class MethodNotAllowed(Exception):
    """The path exists; `allow` lists its methods."""

    def __init__(self, allow: list[str]) -> None:
        super().__init__(", ".join(allow))
        self.allow = allow


class RouteMatch(NamedTuple, Generic[Target]):
    """A route that matched: its template, its target and the values of its parameters."""

    template: str
    target: Target
    params: Mapping[str, str]


class _Node(Generic[Target]):
    def __init__(self) -> None:
        self.children: dict[str, _Node[Target]] = {}
        self.any: _Node[Target] | None = None
        self.methods: dict[str, tuple[str, list[str], Target]] = {}


class Router(Generic[Target]):
    """Finds the target of a method and path. Literals win over parameters, which are not empty and, with `decode`, percent-decoded."""

    def __init__(self, routes: Iterable[tuple[str, str, Target]] = (), *, decode: bool = True) -> None:
        self._root: _Node[Target] = _Node()
        self._literal: dict[tuple[str, str], RouteMatch[Target]] = {}
        self._decode = decode
        for method, template, target in routes:
            self.add(method, template, target)

    def add(self, method: str, template: str, target: Target) -> None:
        """Register a route; raises ValueError for one that exists already."""
        node, names = self._root, []
        for segment in template.split("/")[1:]:
            if segment.startswith("{") and segment.endswith("}"):
                names.append(segment[1:-1])
                node.any = node.any or _Node()
                node = node.any
            else:
                node = node.children.setdefault(segment, _Node())
        if method in node.methods:
            raise ValueError(f"{method} {template} is routed twice")
        node.methods[method] = template, names, target
        if not names:
            self._literal[method, template] = RouteMatch(template, target, {})

    def find(self, method: str, path: str) -> RouteMatch[Target]:
        """Find the route of a request; raises NotFound and MethodNotAllowed."""
        literal = self._literal.get((method, path))
        if literal is not None:
            return literal
        segments = path.split("/")
        found = self._descend(self._root, segments, 1, []) if segments[0] == "" and len(segments) > 1 else None
        if found is None:
            raise NotFound(path)
        node, values = found
        if method not in node.methods:
            raise MethodNotAllowed(sorted(node.methods))
        template, names, target = node.methods[method]
        try:
            params = [unquote(value, errors="strict") if self._decode else value for value in values]
        except UnicodeDecodeError:
            raise NotFound(path) from None
        return RouteMatch(template, target, dict(zip(names, params, strict=True)))

    def _descend(self, node: _Node[Target], segments: list[str], at: int, values: list[str]) -> tuple[_Node[Target], list[str]] | None:
        if at == len(segments):
            return (node, values) if node.methods else None
        segment = segments[at]
        literal = node.children.get(segment)
        if literal is not None:
            found = self._descend(literal, segments, at + 1, values)
            if found is not None:
                return found
        if node.any is not None and segment:
            return self._descend(node.any, segments, at + 1, [*values, segment])
        return None
