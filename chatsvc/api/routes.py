"""The route table: what the interface offers, and what it says to everything else (SPEC.md 4.7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from chatsvc.api import BASE_PATH, operations
from chatsvc.api.gates import OTHER, Call
from chatsvc.domain import errors

Operation = Callable[[Call, str], Awaitable[bytes]]


class Route(NamedTuple):
    """One operation; `{id}` in the path stands for one segment."""

    method: str
    path: str
    operation: Operation


ROUTES = (
    Route("GET", "/chatbots", operations.list_chatbots),
    Route("GET", "/chatbots/{id}", operations.get_chatbot),
    Route("POST", "/messages", operations.send_message),
    Route("GET", "/conversations", operations.list_conversations),
    Route("GET", "/conversations/{id}", operations.get_conversation),
    Route("GET", "/analytics", operations.get_analytics),
)
SUPPORTED_ENDPOINTS = [f"{route.method} {route.path}" for route in ROUTES]

# What metrics and logs call a request, whatever is in its path.
_NAMES = {route.operation: f"{route.method} {route.path}" for route in ROUTES}

_TABLE: dict[str, dict[str, Operation]] = {}
for _route in ROUTES:
    _TABLE.setdefault(BASE_PATH + _route.path, {})[_route.method] = _route.operation


def find(method: str, path: str) -> tuple[Operation, str]:
    """The operation and the id in the path; raises `unknown_endpoint` and `method_not_allowed`. A path is taken as it was sent."""
    methods, record_id = _TABLE.get(path), ""
    if methods is None:
        parent, _, record_id = path.rpartition("/")
        methods = _TABLE.get(f"{parent}/{{id}}") if record_id and record_id != "{id}" else None
    if methods is None:
        raise unknown(method, path)
    if method not in methods:
        raise errors.method_not_allowed(allow=sorted(methods))
    return methods[method], record_id


def name(operation: Operation) -> str:
    """What an operation is called, its id left open: `GET /chatbots/{id}`."""
    return _NAMES[operation]


def name_of(method: str, path: str) -> str:
    """The same for a request, as far as the table has it; else OTHER."""
    try:
        return _NAMES[find(method, path)[0]]
    except errors.ProblemError:
        return OTHER


def unknown(method: str, path: str) -> errors.ProblemError:
    """The 404 of a path that does not exist."""
    return errors.unknown_endpoint(method=method, path=path, supported_endpoints=SUPPORTED_ENDPOINTS)
