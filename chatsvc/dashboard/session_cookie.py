"""Cookie that holds the token of a session."""

from aiohttp.web import Request, Response

from chatsvc.domain.operators import SESSION_MS

_NAME = "chatsvc_session"


def is_secure(public_url: str) -> bool:
    """Report whether browsers reach the service by https, which cookies then require."""
    return public_url.startswith("https://")


def name(public_url: str, base: str = _NAME) -> str:
    """Return a cookie's name; browsers accept the prefix for secure cookies of the host alone."""
    return f"__Host-{base}" if is_secure(public_url) else base


def put(response: Response, public_url: str, base: str, value: str, max_age_s: int) -> Response:
    """Set a cookie for the whole site; a `max_age_s` of 0 deletes it."""
    secure = is_secure(public_url)
    response.set_cookie(name(public_url, base), value, max_age=max_age_s, secure=secure, httponly=True, samesite="Lax")
    return response


def token(request: Request, public_url: str) -> str | None:
    return request.cookies.get(name(public_url))


def keep(response: Response, public_url: str, new_token: str) -> Response:
    return put(response, public_url, _NAME, new_token, SESSION_MS // 1000)


def drop(response: Response, public_url: str) -> Response:
    return put(response, public_url, _NAME, "", 0)
