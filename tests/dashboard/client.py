"""A browser without a screen: an HTTP client that signs in, reads pages and sends their forms."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
from aiohttp import ClientSession, FormData

from chatsvc.app import App


def parsed(text: str) -> Element:
    """Parse a page strictly: any error of HTML's syntax fails the test."""
    tree: Element = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
    return tree


@dataclass
class Shown:
    """A page as it arrived."""

    status: int
    headers: Any
    body: str
    path: str

    @cached_property
    def tree(self) -> Element:
        """The page's elements."""
        return parsed(self.body)

    @property
    def text(self) -> str:
        """All text of the page, with single spaces."""
        body = self.tree.find("body")
        assert body is not None
        return " ".join("".join(body.itertext()).split())

    @property
    def alert(self) -> str:
        """The text of the alert; empty without one."""
        return " ".join(" ".join("".join(one.itertext()).split()) for one in self.tree.iter() if one.get("role") == "alert")

    @property
    def language(self) -> str | None:
        """The language that the page declares."""
        return self.tree.get("lang")

    def forms(self, action: str | None = None) -> list[Element]:
        """The forms, of one operation or all."""
        return [one for one in self.tree.iter("form") if one.get("data-action") and action in (None, one.get("data-action"))]

    def faults(self) -> dict[str, str]:
        """The faults beside fields, by the fields' names."""
        texts = {one.get("id"): " ".join("".join(one.itertext()).split()) for one in self.tree.iter() if one.get("id")}
        marked = [one for one in self.tree.iter() if one.get("aria-invalid") == "true"]
        return {one.get("name", ""): texts[one.get("aria-describedby")] for one in marked}

    def values(self, form: Element) -> list[tuple[str, str]]:
        """The fields of a form as a browser would send them untouched; without files."""
        found = []
        for one in form.iter():
            name, kind = one.get("name"), one.get("type")
            if not name or (one.tag == "button" and name):
                continue
            if one.tag == "select":
                options = list(one.iter("option"))
                chosen = [option for option in options if option.get("selected") is not None] or options[:1]
                found += [(name, option.get("value", option.text or "")) for option in chosen]
            elif one.tag == "textarea":
                found.append((name, (one.text or "").removeprefix("\n")))
            elif one.tag == "input" and kind != "file" and (kind not in ("checkbox", "radio") or one.get("checked") is not None):
                found.append((name, one.get("value", "")))
        return found

    def records(self) -> list[str]:
        """The ids of the elements that stand for records."""
        return [one.get("data-id", "") for one in self.tree.iter() if one.get("data-id")]

    def secrets(self) -> list[str]:
        """The secrets that are shown once."""
        return ["".join(one.itertext()) for one in self.tree.iter() if one.get("data-secret") is not None]

    def links(self, rel: str | None = None) -> list[str]:
        """The addresses of links, with one relation or all."""
        return [one.get("href", "") for one in self.tree.iter("a") if rel is None or rel in (one.get("rel") or "").split()]


class Client:
    """One person's browser. Redirects are followed unless `follow` is False."""

    def __init__(self, app: App, session: ClientSession) -> None:
        self.app = app
        self.session = session

    async def request(self, method: str, path: str, *, follow: bool = True, headers: dict[str, str] | None = None, **options: Any) -> Shown:
        """Send one request."""
        sent = {"Sec-Fetch-Site": "same-origin", **(headers or {})}
        sent = {name: value for name, value in sent.items() if value}
        url = self.app.url + path if path.startswith("/") else path
        async with self.session.request(method, url, allow_redirects=follow, headers=sent, **options) as answer:
            return Shown(answer.status, answer.headers, await answer.text("utf-8", "replace"), answer.url.raw_path_qs)

    async def get(self, path: str, **options: Any) -> Shown:
        """GET a page."""
        return await self.request("GET", path, **options)

    async def post(self, path: str, fields: dict[str, Any] | list[tuple[str, Any]] | None = None, **options: Any) -> Shown:
        """POST fields as a form."""
        return await self.request("POST", path, data=fields or {}, **options)

    async def settled(self, page: Shown) -> Shown:
        """Follow a computation in the background until it is done."""
        for _ in range(600):
            if "data-refresh" not in page.body:
                return page
            await asyncio.sleep(0.1)
            page = await self.get(page.path)
        raise AssertionError(page.text)

    async def submit(self, path: str, action: str, *, where: dict[str, str] | None = None, follow: bool = True, **typed: Any) -> Shown:
        """Open a page, fill in an operation's form, and send it like a browser.

        `where`: values that the form's fields have already, to choose one of several forms. A value of None removes a field, a list
        sends several, and a pair of name and bytes is a file.
        """
        page = await self.get(path)
        forms = [form for form in page.forms(action) if all((name, value) in page.values(form) for name, value in (where or {}).items())]
        assert forms, f"{page.path} ({page.status}) has no form {action}: {[form.get('data-action') for form in page.forms()]}"
        form = forms[0]
        sent = [(name, value) for name, value in page.values(form) if name not in typed]
        for name, value in typed.items():
            if value is not None:
                sent += [(name, one) for one in value] if isinstance(value, list) else [(name, value)]
        return await self.post(form.get("action") or page.path, encoded(form, sent), follow=follow)


def encoded(form: Element, fields: list[tuple[str, Any]]) -> Any:
    """Encode fields as the form says; a pair of name and bytes is a file."""
    if form.get("enctype") != "multipart/form-data":
        return fields
    made = FormData(quote_fields=False, default_to_multipart=True)
    for name, value in fields:
        if isinstance(value, tuple):
            made.add_field(name, value[1], filename=value[0], content_type="application/octet-stream")
        else:
            made.add_field(name, value)
    return made


def shown(text: str) -> str:
    """Return a text as templates escape it."""
    return escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
