"""Page on which the owner of an e-mail address stops the mails with operators' answers."""

import hashlib
from base64 import b64encode
from html import escape

from aiohttp.web import Request, Response

from chatsvc.services.messages.web_visits import WebVisits, Widget
from chatsvc.widget import documents
from chatsvc.widget.calls import CallRefused

_STYLE = (
    ":root{color-scheme:light dark}"
    "body{max-width:34rem;margin:3rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}"
    "h1{font-size:1.3rem}button{font:inherit;padding:.5rem 1rem}"
)
_STYLE_HASH = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
_HEADERS = {
    "Content-Type": documents.HTML,
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


async def show(visits: WebVisits, widget: Widget, request: Request) -> Response:
    """Answer GET /chat/BOT/mails/TOKEN with a button. Mail programs that open links by themselves change nothing."""
    del visits
    _digest(widget, request)
    texts = documents.texts(request, widget)
    return _page(request, widget, texts["mails_ask"], f'<form method="post"><button>{escape(texts["mails_stop"])}</button></form>')


async def stop(visits: WebVisits, widget: Widget, request: Request) -> Response:
    """Answer POST /chat/BOT/mails/TOKEN, which the button and mail programs (RFC 8058) send."""
    await visits.stop_mails(widget, _digest(widget, request))
    return _page(request, widget, documents.texts(request, widget)["mails_stopped"], "")


def _digest(widget: Widget, request: Request) -> bytes:
    digest = widget.address_of(request.match_info["token"])
    if digest is None:
        raise CallRefused(404, "not_found")
    return digest


def _page(request: Request, widget: Widget, text: str, more: str) -> Response:
    name = escape(widget.bot.name)
    body = (
        f'<!doctype html><html lang="{documents.language_of(request, widget)}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>{name}</title>'
        f'<style>{_STYLE}</style></head><body><main><h1 dir="auto">{name}</h1><p>{escape(text)}</p>{more}</main></body></html>'
    )
    return Response(body=body.encode(), headers=_HEADERS)
