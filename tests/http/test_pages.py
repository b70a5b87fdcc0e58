"""HTTP for pages, widget and channels: forms, uploads, raw and streamed bodies."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import closing
from io import BytesIO

import pytest
from aiohttp import ClientPayloadError, ClientSession, FormData, web

from chatsvc.web import connection
from chatsvc.web.forms import FormLimits, read_form
from chatsvc.web.requests import BodyTooLarge, chunks, read_body
from tests.api.support import Wire
from tests.http.support import exchange, serving

LIMITS = FormLimits(size=2_000_000, fields=10, field_size=1000, timeout_s=1.0)


async def show_form(request: web.Request) -> web.Response:
    """Tell what a form holds."""
    with closing(await read_form(request, LIMITS)) as form:
        uploads = [
            (name, upload.filename, upload.content_type, upload.size, hashlib.sha256(upload.file.read()).hexdigest())
            for name, upload in form.uploads.items()
        ]
        return web.json_response({"values": list(form.items()), "uploads": uploads})


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


async def test_what_is_no_form_or_over_a_limit_is_refused() -> None:
    async with serving(show_form) as port:
        for name, (kind, body) in BAD_FORMS.items():
            sent = body.encode("latin-1")
            head = f"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {len(sent)}\r\n\r\n"
            answer = await exchange(port, [head.encode() + sent])
            assert answer.startswith(b"HTTP/1.1 422 "), name
            assert answer.endswith(b"BadForm"), name


async def test_a_form_that_is_too_large_or_too_slow_is_refused() -> None:
    head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: {}\r\n\r\n"
    async with serving(show_form) as port:
        assert b"413 " in (await exchange(port, [head.format(2_000_001).encode()]))[:20]
        assert b"408 " in (await exchange(port, [head.format(100).encode() + b"--x\r\n"], ends=False))[:20]


# -- bodies that stream -------------------------------------------------------------------------------------------------


async def test_a_body_arrives_as_it_was_sent_up_to_the_limit_of_its_route(session: ClientSession) -> None:
    async def digest(request: web.Request) -> web.Response:
        return web.Response(text=hashlib.sha256(await read_body(request, 3_000_000)).hexdigest())

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

    async def slow(request: web.Request) -> web.Response:
        nonlocal read
        async for chunk in chunks(request, 100_000_000):
            read += len(chunk)
            await go_on.wait()
        return web.Response(text=str(read))

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
    async def stream(_: web.Request) -> web.Response:
        async def pieces() -> AsyncIterator[bytes]:
            for number in range(100):
                yield b"%d," % number * 1000
                yield b""

        return web.Response(body=pieces(), content_type="text/csv")

    whole = b"".join(b"%d," % number * 1000 for number in range(100))
    async with serving(stream) as port:
        for _ in range(2):
            async with session.get(f"http://127.0.0.1:{port}/") as answer:
                assert await answer.read() == whole
        old = await exchange(port, [b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"], ends=False)
        assert old.endswith(b"\r\nConnection: close\r\n\r\n" + whole)
        head = await exchange(port, [b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"])
        assert head.endswith(b"\r\n\r\n")


async def test_a_stream_that_fails_is_cut_off(session: ClientSession) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"begun"
        raise ConnectionError("the source has gone")

    async def stream(_: web.Request) -> web.Response:
        return web.Response(body=pieces())

    async with serving(stream) as port, session.get(f"http://127.0.0.1:{port}/fails") as answer:
        with pytest.raises(ClientPayloadError):
            await answer.read()


async def test_a_stream_waits_for_its_reader_and_ends_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "READER_TIMEOUT_S", 0.3)
    sent, closed = 0, asyncio.Event()

    async def stream(_: web.Request) -> web.Response:
        async def pieces() -> AsyncIterator[bytes]:
            nonlocal sent
            try:
                while True:
                    sent += 1
                    yield bytes(100_000)
            finally:
                closed.set()

        return web.Response(body=pieces())

    async with serving(stream) as port:
        wire = Wire(*await asyncio.open_connection("127.0.0.1", port))
        await wire.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        wire.stop_reading()
        async with asyncio.timeout(20):
            await closed.wait()
        assert sent < 200
        wire.hang_up()
