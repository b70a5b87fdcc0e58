"""HTTP for pages, widget and channels: forms, uploads, cookies, redirects, static files, raw and streamed bodies, mounts."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import pytest
from aiohttp import ClientPayloadError, ClientSession, FormData
from multidict import CIMultiDict

from chatsvc.http import connection, cookies
from chatsvc.http.faults import BodyTooLarge
from chatsvc.http.forms import FormLimits, read_form
from chatsvc.http.request import HttpRequest
from chatsvc.http.response import HttpResponse, redirect, text
from chatsvc.http.router import MethodNotAllowed, NotFound, Router
from chatsvc.http.server import Mounts
from chatsvc.http.static import StaticFiles
from tests.api.support import Wire
from tests.http.support import Plain, exchange, serving

LIMITS = FormLimits(size=2_000_000, fields=10, field_size=1000, timeout_s=1.0)


def served(status: int, value: object) -> HttpResponse:
    """A response in JSON."""
    return HttpResponse(status, json.dumps(value).encode(), {"Content-Type": "application/json"})


async def show_form(request: HttpRequest) -> HttpResponse:
    """Tell what a form holds."""
    with await read_form(request, LIMITS) as form:
        uploads = [
            (name, one.filename, one.content_type, one.size, hashlib.sha256(one.file.read()).hexdigest())
            for name, one in form.uploads.items()
        ]
        return served(200, {"values": list(form.values.items()), "uploads": uploads})


# -- forms --------------------------------------------------------------------------------------------------------------


async def test_a_form_is_read_in_either_encoding(session: ClientSession) -> None:
    fields = [("name", "Şükrü"), ("name", ""), ("text", "a&b=c\r\nd +%")]
    async with serving(show_form) as port:
        for form in (FormData(fields), FormData(fields, default_to_multipart=True)):
            async with session.post(f"http://127.0.0.1:{port}/", data=form) as answer:
                assert (await answer.json())["values"] == [list(pair) for pair in fields]


async def test_uploads_are_read_with_their_names_and_an_empty_one_is_none(session: ClientSession) -> None:
    long = bytes(range(256)) * 4000
    form = FormData(quote_fields=False)
    form.add_field("bot", "b")
    form.add_field("file", long, filename="..\\..\\etc/kışın.md", content_type="text/markdown")
    form.add_field("file", b"", filename="empty.txt")
    async with serving(show_form) as port:
        async with session.post(f"http://127.0.0.1:{port}/", data=form) as answer:
            shown = await answer.json()
        without = b'--x\r\nContent-Disposition: form-data; name="file"; filename=""\r\n\r\n\r\n--x--\r\n'
        async with session.post(
            f"http://127.0.0.1:{port}/", data=without, headers={"Content-Type": "multipart/form-data; boundary=x"}
        ) as answer:
            assert await answer.json() == {"values": [], "uploads": []}
    assert shown["values"] == [["bot", "b"]]
    assert shown["uploads"] == [
        ["file", "kışın.md", "text/markdown", len(long), hashlib.sha256(long).hexdigest()],
        ["file", "empty.txt", "application/octet-stream", 0, hashlib.sha256(b"").hexdigest()],
    ]


def part(headers: str, body: str = "x") -> str:
    """One part of a multipart body, and the end."""
    return f"--x\r\n{headers}\r\n\r\n{body}\r\n"


FIELD = 'Content-Disposition: form-data; name="a"'
BAD_FORMS = {
    "no form": ("text/plain", "a=b"),
    "no type": ("", "a=b"),
    "bytes that are no UTF-8": ("application/x-www-form-urlencoded", "a=%ff"),
    "raw bytes": ("application/x-www-form-urlencoded", "a=\u00e9"),
    "too many fields": ("application/x-www-form-urlencoded", "&".join(["a=b"] * 11)),
    "a field too long": ("application/x-www-form-urlencoded", "a=" + "b" * 1001),
    "no boundary": ("multipart/form-data", part(FIELD) + "--x--\r\n"),
    "an empty boundary": ("multipart/form-data; boundary=", part(FIELD) + "--x--\r\n"),
    "a boundary of megabytes": ("multipart/form-data; boundary=" + "x" * 1025, "x"),
    "no end": ("multipart/form-data; boundary=x", part(FIELD)),
    "nothing": ("multipart/form-data; boundary=x", ""),
    "too many parts": ("multipart/form-data; boundary=x", part(FIELD) * 11 + "--x--\r\n"),
    "a part too long": ("multipart/form-data; boundary=x", part(FIELD, "b" * 1001) + "--x--\r\n"),
    "a header too long": ("multipart/form-data; boundary=x", part(FIELD + "\r\nX: " + "y" * 2048) + "--x--\r\n"),
    "too many headers": ("multipart/form-data; boundary=x", part(FIELD + "\r\nX: y" * 9) + "--x--\r\n"),
    "a part without a name": ("multipart/form-data; boundary=x", part("Content-Type: text/plain") + "--x--\r\n"),
    "a text that is no UTF-8": ("multipart/form-data; boundary=x", part(FIELD, "\u00ff") + "--x--\r\n"),
}


@pytest.mark.parametrize(("kind", "body"), BAD_FORMS.values(), ids=BAD_FORMS)
async def test_what_is_no_form_or_over_a_limit_is_refused(kind: str, body: str) -> None:
    sent = body.encode("latin-1")
    async with serving(show_form) as port:
        answer = await exchange(
            port, [f"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {len(sent)}\r\n\r\n".encode() + sent]
        )
    assert answer.startswith(b"HTTP/1.1 422 ")
    assert answer.endswith(b"BadForm")


async def test_a_form_that_is_too_large_or_too_slow_is_refused() -> None:
    head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: {}\r\n\r\n"
    async with serving(show_form) as port:
        assert b"413 " in (await exchange(port, [head.format(2_000_001).encode()]))[:20]
        assert b"408 " in (await exchange(port, [head.format(100).encode() + b"--x\r\n"], ends=False))[:20]


# -- bodies that stream -------------------------------------------------------------------------------------------------


async def test_a_body_arrives_as_it_was_sent_up_to_the_limit_of_its_route(session: ClientSession) -> None:
    async def digest(request: HttpRequest) -> HttpResponse:
        return text(200, hashlib.sha256(await request.body.read(3_000_000)).hexdigest())

    body = bytes(range(256)) * 11_718  # just below 3 MB

    async def pieces() -> AsyncIterator[bytes]:
        for begin in range(0, len(body), 50_000):
            yield body[begin : begin + 50_000]

    async with serving(digest) as port:
        for data in (BytesIO(body), pieces()):
            async with session.post(f"http://127.0.0.1:{port}/", data=data) as answer:
                assert await answer.text() == hashlib.sha256(body).hexdigest()
        async with session.post(f"http://127.0.0.1:{port}/", data=BytesIO(body + bytes(1000))) as answer:
            assert (answer.status, await answer.text()) == (413, BodyTooLarge.__name__)


async def test_a_body_is_read_no_faster_than_its_handler_takes_it() -> None:
    go_on, read = asyncio.Event(), 0

    async def slow(request: HttpRequest) -> HttpResponse:
        nonlocal read
        async for chunk in request.body.chunks(100_000_000):
            read += len(chunk)
            await go_on.wait()
        return text(200, str(read))

    async with serving(slow) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n" + bytes(50_000_000))
        await asyncio.sleep(0.3)
        assert writer.transport.get_write_buffer_size() > 20_000_000
        go_on.set()
        answer = Wire(reader, writer)
        assert (await answer.line()).startswith(b"HTTP/1.1 200 ")
        assert read == 50_000_000
        answer.hang_up()


async def test_a_streamed_response_comes_whole_in_chunks_or_until_the_end(session: ClientSession) -> None:
    async def stream(_: HttpRequest) -> HttpResponse:
        async def pieces() -> AsyncIterator[bytes]:
            for number in range(100):
                yield b"%d," % number * 1000
                yield b""

        return HttpResponse(200, pieces(), {"Content-Type": "text/csv"})

    whole = b"".join(b"%d," % number * 1000 for number in range(100))
    async with serving(stream) as port:
        for _ in range(2):
            async with session.get(f"http://127.0.0.1:{port}/") as answer:
                assert await answer.read() == whole
        old = await exchange(port, [b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"], ends=False)
        assert old.endswith(b"\r\nConnection: close\r\n\r\n" + whole)
        head = await exchange(port, [b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"])
        assert head.endswith(b"\r\n\r\n")


async def test_a_stream_that_fails_or_takes_too_long_is_cut_off(session: ClientSession, caplog: pytest.LogCaptureFixture) -> None:
    async def stream(request: HttpRequest) -> HttpResponse:
        async def pieces() -> AsyncIterator[bytes]:
            yield b"begun"
            if request.path == "/fails":
                raise ConnectionError("the source has gone")
            await asyncio.sleep(60)

        return HttpResponse(200, pieces(), timeout_s=0.1)

    async with serving(stream) as port:
        for path in ("/fails", "/hangs"):
            async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                with pytest.raises(ClientPayloadError):
                    await answer.read()


async def test_a_stream_waits_for_its_reader_and_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "READER_TIMEOUT_S", 0.3)
    sent, closed = 0, asyncio.Event()

    async def stream(_: HttpRequest) -> HttpResponse:
        async def pieces() -> AsyncIterator[bytes]:
            nonlocal sent
            try:
                while True:
                    sent += 1
                    yield bytes(100_000)
            finally:
                closed.set()

        return HttpResponse(200, pieces())

    async with serving(stream) as port:
        wire = Wire(*await asyncio.open_connection("127.0.0.1", port))
        await wire.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        wire.stop_reading()
        async with asyncio.timeout(5):
            await closed.wait()
        assert sent < 200
        wire.hang_up()


# -- requests and responses ---------------------------------------------------------------------------------------------


async def test_cookies_queries_and_redirects() -> None:
    async def handler(request: HttpRequest) -> HttpResponse:
        response = redirect("/next?a=b")
        response.add_header("Set-Cookie", cookies.render("__Host-session", "abc", max_age_s=60, secure=True))
        response.add_header("Set-Cookie", cookies.render("seen", "1", secure=False, http_only=False, same_site="Strict"))
        response.add_header("X-Seen", json.dumps([dict(request.cookies), list(request.query.items())]))
        return response

    async with serving(handler) as port:
        sent = 'GET /?q=a%20b+c&q=2&e= HTTP/1.1\r\nHost: x\r\nCookie: a=1; a=2;b="q"; bad name=x; c=\r\nCookie: d=4\r\n\r\n'
        answer = await exchange(port, [sent.encode()])
    head, *lines = answer.decode().split("\r\n")
    fields = CIMultiDict([(name, value) for name, _, value in (line.partition(": ") for line in lines if line)])
    assert head == "HTTP/1.1 303 See Other"
    assert fields["Location"] == "/next?a=b"
    assert fields.getall("Set-Cookie") == [
        "__Host-session=abc; Path=/; Max-Age=60; HttpOnly; Secure; SameSite=Lax",
        "seen=1; Path=/; SameSite=Strict",
    ]
    assert json.loads(fields["X-Seen"]) == [{"a": "1", "b": "q", "c": "", "d": "4"}, [["q", "a b c"], ["q", "2"], ["e", ""]]]


@pytest.mark.parametrize(
    ("name", "value", "secure"), [("a b", "x", True), ("a", "x;y", True), ("a", "x\r\ny", True), ("__Host-a", "x", False)]
)
def test_a_cookie_that_no_browser_would_take_is_refused(name: str, value: str, secure: bool) -> None:
    with pytest.raises(ValueError, match=r"cookie|browsers"):
        cookies.render(name, value, secure=secure)


def test_a_flood_of_cookies_is_bounded() -> None:
    assert len(cookies.parse([";".join(f"c{n}={n}" for n in range(1000))] * 3)) == cookies.MAX_COOKIES


@pytest.mark.parametrize("value", ["/x\r\nSet-Cookie: a=b", "/x\ny", "/\0", "/\u20ac"])
async def test_a_header_that_would_split_the_response_is_500(value: str, caplog: pytest.LogCaptureFixture) -> None:
    async def handler(_: HttpRequest) -> HttpResponse:
        return redirect(value)

    async with serving(handler) as port:
        answer = await exchange(port, [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"])
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert b"Set-Cookie" not in answer
    assert "unexpected fault" in caplog.text


ROUTES = [
    ("GET", "/bots", "list"),
    ("GET", "/bots/{id}", "bot"),
    ("POST", "/bots/{id}", "change"),
    ("GET", "/bots/new", "new"),
    ("GET", "/bots/{id}/knowledge/{entry}", "entry"),
    ("GET", "/bots/new/x", "x"),
]


@pytest.mark.parametrize(
    ("path", "target", "params"),
    [
        ("/bots", "list", {}),
        ("/bots/7", "bot", {"id": "7"}),
        ("/bots/new", "new", {}),
        ("/bots/new/knowledge/a%2Fb%20%C5%9F", "entry", {"id": "new", "entry": "a/b ş"}),
        ("/bots/{id}", "bot", {"id": "{id}"}),
    ],
)
def test_a_route_is_found_with_its_parameters(path: str, target: str, params: dict[str, str]) -> None:
    template, found, given = Router(ROUTES).find("GET", path)
    assert (found, given) == (target, params)
    assert template in {template for _, template, _ in ROUTES}


@pytest.mark.parametrize("path", ["", "/", "bots", "/bots/", "/bots//knowledge/x", "/bots/7/", "/bots/%ff", "/bots/7/knowledge", "*"])
def test_a_path_without_a_route_is_not_found(path: str) -> None:
    with pytest.raises(NotFound):
        Router(ROUTES).find("GET", path)


def test_another_method_is_told_the_methods_of_the_path() -> None:
    with pytest.raises(MethodNotAllowed) as refused:
        Router(ROUTES).find("PUT", "/bots/7")
    assert refused.value.allow == ["GET", "POST"]
    with pytest.raises(ValueError, match="twice"):
        Router([*ROUTES, ROUTES[0]])


async def test_each_request_goes_to_the_front_end_of_its_prefix() -> None:
    def named(name: str) -> Plain:
        async def handler(request: HttpRequest) -> HttpResponse:
            if request.query:
                raise BodyTooLarge
            return text(200, name)

        return Plain(handler)

    mounts = Mounts({"/api/": named("api"), "/channels/whatsapp": named("whatsapp")}, default=named("pages"), unparsed=named("unparsed"))
    async with serving(mounts.handle) as port:
        for path, name in [
            ("/api/x", b"api"),
            ("/api", b"pages"),
            ("/channels/whatsapp", b"whatsapp"),
            ("/channels/whatsapp/b", b"whatsapp"),
            ("/channels/whatsappx", b"pages"),
            ("/", b"pages"),
            ("*", b"pages"),
        ]:
            method = "OPTIONS" if path == "*" else "GET"
            answer = await exchange(port, [f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()])
            assert answer.endswith(b"\r\n\r\n" + name), path


# -- static files -------------------------------------------------------------------------------------------------------


async def test_static_files_have_validators_and_permanent_urls(tmp_path: Path, session: ClientSession) -> None:
    (tmp_path / "style.css").write_text("a{}")
    (tmp_path / "secret.py").write_text("x")
    files = StaticFiles("/static/", tmp_path, 1_700_000_000)

    async def handler(request: HttpRequest) -> HttpResponse:
        return files.find(request) or text(404, "")

    async with serving(handler) as port:
        url = f"http://127.0.0.1:{port}"
        async with session.get(url + "/static/style.css") as answer:
            assert (answer.status, await answer.text(), answer.headers["Content-Type"]) == (200, "a{}", "text/css; charset=utf-8")
            assert (answer.headers["Cache-Control"], answer.headers["X-Content-Type-Options"]) == ("no-cache", "nosniff")
            tag, modified = answer.headers["ETag"], answer.headers["Last-Modified"]
        async with session.get(url + files.url("style.css")) as answer:
            assert (answer.status, answer.headers["Cache-Control"]) == (200, "public, max-age=31536000, immutable")
        current = [{"If-None-Match": tag}, {"If-None-Match": f'"x", W/{tag}'}, {"If-None-Match": "*"}, {"If-Modified-Since": modified}]
        for headers in current:
            async with session.get(url + "/static/style.css", headers=headers) as answer:
                assert (answer.status, await answer.read(), answer.headers["ETag"]) == (304, b"", tag)
                assert "Content-Length" not in answer.headers
        stale = [
            {"If-None-Match": '"x"', "If-Modified-Since": modified},
            {"If-Modified-Since": "Mon, 13 Nov 2023 00:00:00 GMT"},
            {"If-Modified-Since": "yesterday"},
        ]
        for headers in stale:
            async with session.get(url + "/static/style.css", headers=headers) as answer:
                assert answer.status == 200
        for path in ("/static/secret.py", "/static/", "/static/../x", "/static/%2e%2e/style.css"):
            assert (await exchange(port, [f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()])).startswith(b"HTTP/1.1 404 ")
    (tmp_path / "style.css").write_text("b{}")
    assert StaticFiles("/static/", tmp_path, 0).url("style.css") != files.url("style.css")
