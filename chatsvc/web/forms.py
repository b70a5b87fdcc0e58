"""HTML forms: urlencoded, and multipart with uploads (by `multipart`, in its strict mode), read as they arrive and within limits."""

import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import chain
from typing import IO, Self
from urllib.parse import parse_qsl

import multipart  # type: ignore[import-untyped]
from aiohttp import web
from multidict import MultiDict

from chatsvc.web.bodies import DEFAULT_TIMEOUT_S, UNCOUNTED, chunks, read_body
from chatsvc.web.faults import BadForm

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
IN_MEMORY = 64 * 1024  # bytes of an upload; the rest of a longer one is in a temporary file


@dataclass(frozen=True)
class FormLimits:
    """Limits of a form. Bytes in all, number of fields and uploads together, bytes of a text field, bytes of a part's header line."""

    size: int = 256 * 1024
    fields: int = 200
    field_size: int = 64 * 1024
    header_size: int = 2048
    timeout_s: float = 30.0


# For forms of a sender who is not signed in: no more than nobody counts.
UNKNOWN_SENDER = FormLimits(size=UNCOUNTED, fields=20, timeout_s=DEFAULT_TIMEOUT_S)


@dataclass
class Upload:
    """An uploaded file. `filename` is the last component of the name that the browser sent: never a path to write to."""

    filename: str
    content_type: str
    file: IO[bytes]
    size: int = 0


@dataclass
class SubmittedForm:
    """The fields of a form in their order, and its uploads by field name. Use as a context manager: it closes the uploads."""

    values: MultiDict[str] = field(default_factory=MultiDict)
    uploads: MultiDict[Upload] = field(default_factory=MultiDict)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for upload in self.uploads.values():
            upload.file.close()


async def read_form(request: web.Request, limits: FormLimits) -> SubmittedForm:
    """Read a form; raises BadForm, BodyTooLarge, BodyTimeout and BodyBroken. An upload without a name was left empty and is omitted."""
    kind, options = multipart.parse_options_header(request.headers.get("Content-Type", ""))
    if kind == MULTIPART:
        return await _read_multipart(chunks(request, limits.size, limits.timeout_s), options.get("boundary", ""), limits)
    if kind != URLENCODED:
        raise BadForm("not a form")
    body = await read_body(request, limits.size, limits.timeout_s)
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=limits.fields)
    except ValueError:
        raise BadForm("the fields cannot be decoded") from None
    if max(map(len, chain(*pairs)), default=0) > limits.field_size:
        raise BadForm("a field is too long")
    return SubmittedForm(MultiDict(pairs))


async def _read_multipart(body: AsyncIterator[bytes], boundary: str, limits: FormLimits) -> SubmittedForm:
    form = SubmittedForm()
    try:
        parser = multipart.PushMultipartParser(
            boundary, max_segment_count=limits.fields, max_header_size=limits.header_size, max_segment_size=limits.size, strict=True
        )
        parts = _Parts(form, limits)
        with parser:
            async for chunk in body:
                for event in parser.parse(chunk):
                    parts.add(event)
    except (multipart.MultipartError, UnicodeDecodeError) as fault:
        form.__exit__()
        raise BadForm(type(fault).__name__) from None
    except BaseException:
        form.__exit__()
        raise
    return form


class _Parts:
    """Collects the parser's events. The head of a part, its bytes, and None at its end."""

    def __init__(self, form: SubmittedForm, limits: FormLimits) -> None:
        self._form = form
        self._limits = limits
        self._name = ""
        self._text = bytearray()
        self._upload: Upload | None = None
        self._skips = False

    def add(self, event: multipart.MultipartSegment | bytes | None) -> None:
        """Process one event; raises BadForm and UnicodeDecodeError."""
        if isinstance(event, multipart.MultipartSegment):
            self._begin(event)
        elif event is None:
            if self._upload is not None:
                self._upload.file.seek(0)
            elif not self._skips:
                self._form.values.add(self._name, self._text.decode())
        elif self._upload is not None:
            self._upload.file.write(event)
            self._upload.size += len(event)
        else:
            self._text += event
            if len(self._text) > self._limits.field_size:
                raise BadForm("a field is too long")

    def _begin(self, segment: multipart.MultipartSegment) -> None:
        self._name, self._text, self._upload = segment.name or "", bytearray(), None
        self._skips = segment.filename == ""
        if segment.filename:
            name = segment.filename.replace("\\", "/").rpartition("/")[2]
            file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  # the form closes it
            self._upload = Upload(name, segment.content_type or "application/octet-stream", file)
            self._form.uploads.add(self._name, self._upload)
