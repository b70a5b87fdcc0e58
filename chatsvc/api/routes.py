"""Route table of the interface, and its answer to everything else (SPEC.md 4.7)."""

from collections.abc import Awaitable, Callable

from chatsvc.api import BASE_PATH, operations
from chatsvc.api.gates import RequestContext
from chatsvc.domain import errors
from chatsvc.http.router import MethodNotAllowed, NotFound, RouteMatch, Router

Operation = Callable[[RequestContext], Awaitable[bytes]]

ROUTES: tuple[tuple[str, str, Operation], ...] = (
    ("GET", "/chatbots", operations.list_chatbots),
    ("GET", "/chatbots/{id}", operations.get_chatbot),
    ("POST", "/messages", operations.send_message),
    ("GET", "/conversations", operations.list_conversations),
    ("GET", "/conversations/{id}", operations.get_conversation),
    ("GET", "/analytics", operations.get_analytics),
)
SUPPORTED_ENDPOINTS = [f"{method} {path}" for method, path, _ in ROUTES]

# The target is an operation with its name in logs and metrics. Ids are compared as sent: none of them needs percent-encoding.
_ROUTER: Router[tuple[str, Operation]] = Router(
    ((method, BASE_PATH + path, (f"{method} {path}", operation)) for method, path, operation in ROUTES), decode=False
)


def find(method: str, path: str) -> RouteMatch[tuple[str, Operation]]:
    """Find the name and the operation of a request; raises `unknown_endpoint` and `method_not_allowed`."""
    try:
        return _ROUTER.find(method, path)
    except NotFound:
        raise unknown(method, path) from None
    except MethodNotAllowed as fault:
        raise errors.method_not_allowed(allow=fault.allow) from None


def unknown(method: str, path: str) -> errors.ProblemError:
    return errors.unknown_endpoint(method=method, path=path, supported_endpoints=SUPPORTED_ENDPOINTS)
