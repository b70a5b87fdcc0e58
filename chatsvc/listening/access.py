"""Access log and request metrics of every front end."""

from chatsvc.http.request import HttpRequest
from chatsvc.http.response import HttpResponse
from chatsvc.log import ACCESS
from chatsvc.services.services import Services


class AccessLog:
    """Counts each request, and writes a line where `log.access` is set. Routes are named by their template, never by their path."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def __call__(self, request: HttpRequest, response: HttpResponse, seconds: float) -> None:
        """Record one answered request."""
        self._services.tallies.request(request.route, response.status, request.error, seconds)
        if self._services.config.log.access:
            ms = round(seconds * 1000, 1)
            method, _, route = request.route.rpartition(" ")
            fields = {"method": method or None, "route": route, "status": response.status, "ms": ms, "account": request.principal}
            ACCESS.info("%s %d %.1f ms account %s", request.route, response.status, ms, request.principal or "-", extra={"fields": fields})
