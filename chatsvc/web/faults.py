"""Protocol faults, which each front end converts to a response of its own. `status` is the usual HTTP status of each."""


class HttpFault(Exception):
    """Base of all protocol faults."""

    status = 400


class BadRequest(HttpFault):
    """The bytes are not an HTTP/1.1 request, or the head exceeds its limits."""


class HeadTimeout(HttpFault):
    """The head did not arrive before its deadline."""

    status = 408


class BodyBroken(HttpFault):
    """The body ended early, or its chunked framing is invalid."""


class BodyTimeout(HttpFault):
    """The body did not arrive before its deadline."""

    status = 408


class BodyTooLarge(HttpFault):
    """The body exceeds the limit of its route."""

    status = 413


class BadForm(HttpFault):
    """The body is not a form of its declared type, or exceeds a limit of forms."""

    status = 422


class TooManyRequests(HttpFault):
    """An address has too many unauthenticated requests in flight."""

    status = 503


class BodiesOverload(HttpFault):
    """The bodies of all unknown senders together exceed the memory reserved for them."""

    status = 503


class HandlerFailed(HttpFault):
    """The handler raised an unexpected exception; it is logged with its traceback."""

    status = 500
