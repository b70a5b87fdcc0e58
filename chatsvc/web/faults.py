"""Protocol faults that a front end words as a response. `status` is the usual HTTP status of each."""


class HttpFault(Exception):
    """Base of all protocol faults."""

    status = 400


class BadRequest(HttpFault):
    """The bytes are no HTTP/1.1 request, or the head exceeds its limits."""


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
    """The body is no form of its declared type, or exceeds a form limit."""

    status = 422


class TooManyRequests(HttpFault):
    """An address has too many unauthenticated requests in flight."""

    status = 503


class BodiesOverload(HttpFault):
    """All bodies of unknown senders together exceed what the service holds."""

    status = 503


class HandlerFailed(HttpFault):
    """The handler raised an unexpected exception; it is logged with its traceback."""

    status = 500
