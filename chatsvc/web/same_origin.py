"""Protection against cross-site request forgery by `Sec-Fetch-Site`, then `Origin`."""

from aiohttp import web

_OWN_SITES = ("same-origin", "none")
_SCHEMES = ("http://", "https://")


def is_same_origin(request: web.BaseRequest, public_url: str) -> bool:
    """Report whether a form was sent by a page of this service. Browsers send no Sec-Fetch-Site over plain http on a LAN."""
    sites = request.headers.getall("Sec-Fetch-Site", [])
    if sites:
        return len(sites) == 1 and sites[0] in _OWN_SITES
    return names_own_origin(request, public_url)


def names_own_origin(request: web.BaseRequest, public_url: str) -> bool:
    """Report whether `Origin` is the address of `public_url` or of the `Host` asked for."""
    origins = request.headers.getall("Origin", [])
    if len(origins) != 1:
        return False
    origin, host = origins[0].lower(), request.headers.get("Host", "").lower()
    return origin == public_url.lower() or (bool(host) and origin in [scheme + host for scheme in _SCHEMES])
