"""Cookie that holds the token of a session."""

from chatsvc.domain.operators import SESSION_MS
from chatsvc.http import cookies
from chatsvc.http.request import HttpRequest

_NAME = "chatsvc_session"


def is_secure(public_url: str) -> bool:
    """Report whether browsers reach the service by https, which cookies then require."""
    return public_url.startswith("https://")


def name(public_url: str, base: str = _NAME) -> str:
    """Return a cookie's name; browsers accept the prefix for secure cookies of the host alone."""
    return f"__Host-{base}" if is_secure(public_url) else base


def render(public_url: str, base: str, value: str, max_age_s: int) -> str:
    """Return a Set-Cookie value; a `max_age_s` of 0 deletes the cookie."""
    return cookies.render(name(public_url, base), value, max_age_s=max_age_s, secure=is_secure(public_url))


def token(request: HttpRequest, public_url: str) -> str | None:
    return request.cookies.get(name(public_url))


def keep(public_url: str, new_token: str) -> str:
    return render(public_url, _NAME, new_token, SESSION_MS // 1000)


def drop(public_url: str) -> str:
    return render(public_url, _NAME, "", 0)
