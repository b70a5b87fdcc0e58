"""Documents of the web widget: the loader that sites embed, the frame, the stand-alone chat page, and the page that stops mails."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from aiohttp.web import Request, Response

from chatsvc.domain import keys, rich_text
from chatsvc.domain.channels import DEFAULT_COLOR, THEMES, is_color, is_dark, origin_of
from chatsvc.domain.folding import primary
from chatsvc.domain.keys import SITE
from chatsvc.services.messages import web_visits
from chatsvc.services.messages.web_visits import LINK, MOST_TEXT, WebVisits, Widget
from chatsvc.web.middlewares import static_url
from chatsvc.widget.calls import CallRefused, shown_spans

if TYPE_CHECKING:
    from jinja2 import Template

LOADER = "/widget.js"
_FOLDER = files("chatsvc.widget")
STATIC = Path(__file__).parent / "static"
_LOADER_HEADERS = {
    "Content-Type": "text/javascript; charset=utf-8",
    "Cache-Control": "public, max-age=300",
    # For embedding pages that isolate themselves; it permits the use of the script, not the reading of its text.
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
}


@cache
def _text(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")


@cache
def _template(name: str) -> Template:
    # Imported at the first page: an installation without visitors here saves 3 MB.
    from jinja2 import Environment

    return Environment(autoescape=True).from_string(_text(name))


@cache
def _texts() -> Mapping[str, Mapping[str, str]]:
    texts: Mapping[str, Mapping[str, str]] = json.loads(_text("texts.json"))
    return texts


async def loader(request: Request) -> Response:
    """Answer GET /widget.js. The status is 304 if the browser's copy is current."""
    script = _compact(_text("static/loader.js")).encode()
    tag = f'"{hashlib.sha256(script).hexdigest()[:16]}"'
    headers = {**_LOADER_HEADERS, "ETag": tag}
    if tag in request.headers.get("If-None-Match", ""):
        return Response(status=304, headers=headers)
    return Response(body=script, headers=headers)


@cache
def _compact(script: str) -> str:
    """Remove indentation and comment lines from a script, which every page of a site loads."""
    lines = (line.strip() for line in script.splitlines())
    return "\n".join(line for line in lines if not line.startswith("//"))


async def look(visits: WebVisits, widget: Widget, request: Request) -> Response:
    """Answer GET /widget/BOT/look.js with the appearance of the launcher. It is null unless a site of the channel embeds it.

    The owner's settings have priority over the attributes in the page, so that changes take effect without a change of the page.
    """
    site, given = _embedding_site(request), "null"
    if widget.admits(site):
        asked = (primary(request.query.get(name, "").lower()) for name in ("language", "page"))
        language = next((tag for tag in asked if tag in _texts()), "en")
        color, position = _color(request, widget), widget.channel.text("position") or request.query.get("position")
        values = {"color": color, "ink": "#fff" if is_dark(color) else "#000", "side": "left" if position == "left" else "right"}
        shown = {
            "style": _template("static/launcher.css").render(values),
            "launcher": widget.channel.text("launcher") or "",
            "theme": widget.channel.text("theme") or "",
            "query": f"language={language}&color={color[1:]}",
            **{name: _texts()[language][f"loader_{name}"] for name in ("open", "close", "title")},
        }
        given = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    else:
        await visits.note_refused(widget, site)
    return Response(body=f"chatsvc.show({given})".encode(), headers={**_LOADER_HEADERS, "Cache-Control": "private, max-age=60"})


async def frame(visits: WebVisits, widget: Widget, request: Request) -> Response:
    """Answer GET /widget/BOT with the frame. Only the sites of the channel may embed it."""
    site = _embedding_site(request)
    language = language_of(request, widget)
    destination = request.headers.get("Sec-Fetch-Dest")
    # Browsers name the destination on https and on this machine; elsewhere only a named site proves that there is a frame.
    is_framed = destination in ("iframe", "frame") if destination is not None else site != ""
    if not is_framed or not widget.admits(site):
        await visits.note_refused(widget, site if is_framed else "")
        return _refused(language, widget)
    return await _document(visits, widget, request, language, site)


async def page(visits: WebVisits, widget: Widget, request: Request) -> Response:
    """Answer GET /chat/BOT with the conversation as a stand-alone page. The channel must permit it."""
    language = language_of(request, widget)
    if not widget.admits(LINK):
        return _refused(language, widget)
    return await _document(visits, widget, request, language, LINK)


def _embedding_site(request: Request) -> str:
    """Return the origin of the embedding page, or "" if the browser does not name it."""
    referrer = request.headers.get("Referer", "")
    scheme, _, rest = referrer.partition("://")
    try:
        return origin_of(f"{scheme}://{rest.partition('/')[0]}") if rest else ""
    except ValueError:
        return ""


def language_of(request: Request, widget: Widget) -> str:
    """Return the language of the widget's own texts: the requested one, otherwise the browser's, otherwise the bot's."""
    accepted = [part.partition(";")[0].strip() for part in request.headers.get("Accept-Language", "").split(",")]
    wanted = [request.query.get("language", ""), *accepted, widget.bot.language]
    return next((tag for asked in wanted if (tag := primary(asked.lower())) in _texts()), "en")


def texts(request: Request, widget: Widget) -> Mapping[str, str]:
    return _texts()[language_of(request, widget)]


def _color(request: Request, widget: Widget) -> str:
    asked = f"#{request.query.get('color', '').lstrip('#')}"
    return widget.channel.text("color") or (asked if is_color(asked) else DEFAULT_COLOR)


async def _document(visits: WebVisits, widget: Widget, request: Request, language: str, site: str) -> Response:
    opening = web_visits.opening(visits.services, widget.bot, language)
    data = {
        "bot": widget.bot.id,
        "site": widget.token(SITE, site),
        "framed": site != LINK,
        "origin": "" if site == LINK else site,
        "color": _color(request, widget),
        "greeting": shown_spans(rich_text.spans(opening.greeting)),
        "suggestions": opening.suggestions,
        "away": widget.is_away,
        "wishes": opening.wishes,
        "closed": opening.closed,
        "most": MOST_TEXT,
        "texts": _texts()[language],
    }
    values = {
        "language": language,
        "theme": theme if (theme := widget.channel.text("theme") or request.query.get("theme")) in THEMES else "",
        "title": widget.channel.text("title") or widget.bot.name,
        "privacy_url": widget.channel.text("privacy_url"),
        "script": static_url("/widget/static", STATIC, "widget.js"),
        "texts": _texts()[language],
        "closed": opening.closed,
        "logo": widget.channel.text("logo"),
        "style": _text("static/widget.css"),
        # In a script element nothing but "</" and "<!--" has a meaning.
        "data": json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
    }
    return _html(200, _template("frame.html").render(values), "'self'", widget.channel.origins if site != LINK else [])


def _refused(language: str, widget: Widget) -> Response:
    body = _template("refused.html").render(language=language, title=widget.bot.name, text=_texts()[language]["refused"])
    return _html(403, body, "'none'", widget.channel.origins)


def _html(status: int, page: str, script: str, origins: list[str]) -> Response:
    ancestors = " ".join(origins) or "'none'"
    policy = (
        f"default-src 'none'; script-src {script}; {_style_source('static/widget.css')}; img-src 'self' data:; connect-src 'self';"
        f" form-action 'none'; base-uri 'none'; frame-ancestors {ancestors}"
    )
    response = _response(status, page, policy, "same-origin")
    # Pages that isolate themselves embed only frames that do so too.
    response.headers["Cross-Origin-Embedder-Policy"] = "require-corp"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.headers["Permissions-Policy"] = "camera=(), microphone=(), geolocation=()"
    return response


@cache
def _style_source(name: str) -> str:
    return f"style-src 'sha256-{b64encode(hashlib.sha256(_text(name).encode()).digest()).decode()}'"


def _response(status: int, page: str, policy: str, referrer: str) -> Response:
    headers = {
        "Content-Type": "text/html; charset=utf-8",
        "Content-Security-Policy": policy,
        "Referrer-Policy": referrer,
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }
    return Response(status=status, body=page.encode(), headers=headers)


async def ask_to_stop_mails(visits: WebVisits, widget: Widget, request: Request) -> Response:
    """Answer GET /chat/BOT/mails/TOKEN with a page that has a button to stop mails. A program that only opens the link changes nothing."""
    del visits
    _digest(widget, request)
    words = texts(request, widget)
    return _mails_page(request, widget, words["mails_ask"], words["mails_stop"])


async def stop_mails(visits: WebVisits, widget: Widget, request: Request) -> Response:
    """Answer POST /chat/BOT/mails/TOKEN: stop mails to the visitor's address. The page's button and mail programs (RFC 8058) send it."""
    await visits.stop_mails(widget, _digest(widget, request))
    return _mails_page(request, widget, texts(request, widget)["mails_stopped"], "")


def _digest(widget: Widget, request: Request) -> bytes:
    parts = keys.read_token(widget.key, keys.MAIL, request.match_info["token"])
    if parts is None:
        raise CallRefused(404, "not_found")
    return bytes.fromhex(parts[0])


def _mails_page(request: Request, widget: Widget, text: str, button: str) -> Response:
    style = "static/mails.css"
    values = {"language": language_of(request, widget), "title": widget.bot.name, "style": _text(style), "text": text, "button": button}
    policy = f"default-src 'none'; {_style_source(style)}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    return _response(200, _template("mails.html").render(values), policy, "no-referrer")
