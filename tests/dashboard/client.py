"""A browser without a screen: an HTTP client that signs in, reads pages and sends their forms."""

import asyncio
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
from aiohttp import ClientSession, FormData

from chatsvc.app import App


def parsed(text: str) -> Element:
    """Parse a page strictly: any error of HTML's syntax fails the test."""
    tree: Element = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
    return tree


def text_of(element: Element) -> str:
    """Return the text of an element with single spaces."""
    return " ".join("".join(element.itertext()).split())


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

    @cached_property
    def text(self) -> str:
        """All text of the page, with single spaces."""
        body = self.tree.find("body")
        assert body is not None
        return text_of(body)

    @property
    def alert(self) -> str:
        """The text of the alert; empty without one."""
        return " ".join(text_of(element) for element in self.tree.iter() if element.get("role") == "alert")

    @property
    def language(self) -> str | None:
        """The language that the page declares."""
        return self.tree.get("lang")

    def has(self, *words: str) -> bool:
        """Whether the page is shown without a fault, with all these words in its text."""
        return self.status == 200 and all(part in self.text for part in words)

    def refuses(self, *words: str, kept: str = "", status: int = 422) -> bool:
        """Whether the page refuses a form with these words in its alert, and still has what was typed."""
        return self.status == status and self.alert != "" and all(part in self.alert for part in words) and kept in self.body

    def element(self, record: str) -> Element:
        """The row of a record, or its element in the thread."""
        return next(element for element in self.tree.iter() if element.get("data-id") == record)

    def row(self, record: str) -> str:
        """The text of the element that stands for a record."""
        return text_of(self.element(record))

    def part(self, part_id: str) -> str:
        """The text of a part of the page."""
        return next(text_of(element) for element in self.tree.iter() if element.get("id") == part_id)

    def forms(self, action: str | None = None) -> list[Element]:
        """The forms, of one operation or all."""
        return [form for form in self.tree.iter("form") if form.get("data-action") and action in (None, form.get("data-action"))]

    def faults(self) -> dict[str, str]:
        """The faults beside fields, by the fields' names."""
        texts = {element.get("id"): text_of(element) for element in self.tree.iter() if element.get("id")}
        marked = [element for element in self.tree.iter() if element.get("aria-invalid") == "true"]
        return {element.get("name", ""): texts[element.get("aria-describedby")] for element in marked}

    def values(self, form: Element) -> list[tuple[str, str]]:
        """The fields of a form as a browser would send them untouched; without files."""
        values = []
        for element in form.iter():
            name, kind = element.get("name"), element.get("type")
            if not name or element.tag == "button":
                continue
            if element.tag == "select":
                options = list(element.iter("option"))
                chosen = [option for option in options if option.get("selected") is not None] or options[:1]
                values += [(name, option.get("value", option.text or "")) for option in chosen]
            elif element.tag == "textarea":
                values.append((name, (element.text or "").removeprefix("\n")))
            elif element.tag == "input" and kind != "file" and (kind not in ("checkbox", "radio") or element.get("checked") is not None):
                values.append((name, element.get("value", "")))
        return values

    def filled(self, action: str, **where: str) -> dict[str, str]:
        """The fields of an operation's form; `where` are values of some of them, to choose one of several forms."""
        forms = [self.values(form) for form in self.forms(action)]
        (chosen,) = [values for values in forms if where.items() <= set(values)]
        return dict(chosen)

    def records(self) -> list[str]:
        """The ids of the elements that stand for records."""
        return [element.get("data-id", "") for element in self.tree.iter() if element.get("data-id")]

    def secrets(self) -> list[str]:
        """The secrets that are shown once."""
        return ["".join(element.itertext()) for element in self.tree.iter() if element.get("data-secret") is not None]

    def links(self, rel: str | None = None) -> list[str]:
        """The addresses of links, with one relation or all."""
        return [link.get("href", "") for link in self.tree.iter("a") if rel is None or rel in (link.get("rel") or "").split()]


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
        for _ in range(1200):
            if "data-refresh" not in page.body:
                return page
            await asyncio.sleep(0.05)
            page = await self.get(page.path)
        raise AssertionError(page.text)

    async def submit(self, path: str, action: str, *, where: dict[str, str] | None = None, follow: bool = True, **typed: Any) -> Shown:
        """Open a page, fill in an operation's form, and send it like a browser.

        `where`: values that the form's fields have already, to choose one of several forms. A value of None removes a field, a list
        sends several, and a pair of name and bytes is a file.
        """
        page = await self.get(path)
        forms = [form for form in page.forms(action) if all(pair in page.values(form) for pair in (where or {}).items())]
        assert forms, f"{page.path} ({page.status}) has no form {action}: {[form.get('data-action') for form in page.forms()]}"
        sent = [(name, value) for name, value in page.values(forms[0]) if name not in typed]
        for name, value in typed.items():
            if value is not None:
                sent += [(name, item) for item in value] if isinstance(value, list) else [(name, value)]
        return await self.post(forms[0].get("action") or page.path, encoded(forms[0], sent), follow=follow)


def encoded(form: Element, fields: list[tuple[str, Any]]) -> Any:
    """Encode fields as the form says; a pair of name and bytes is a file."""
    if form.get("enctype") != "multipart/form-data":
        return fields
    data = FormData(quote_fields=False, default_to_multipart=True)
    for name, value in fields:
        if isinstance(value, tuple):
            data.add_field(name, value[1], filename=value[0], content_type="application/octet-stream")
        else:
            data.add_field(name, value)
    return data
