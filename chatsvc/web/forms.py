"""HTML forms, either urlencoded or multipart with uploads. They are parsed as they arrive, within limits. Parsing is strict."""

import hashlib
import json
import re
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from itertools import chain
from typing import IO
from urllib.parse import parse_qsl

import multipart  # type: ignore[import-untyped]
from aiohttp import web
from multidict import MultiDict, MultiDictProxy, MultiMapping

from chatsvc.domain import refusals
from chatsvc.domain.targets import with_https
from chatsvc.web.requests import BODY_TIMEOUT_S, UNCOUNTED, BadForm, chunks, read_body

URLENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
IN_MEMORY = 64 * 1024  # bytes of an upload; the rest of a longer one is in a temporary file


@dataclass(frozen=True)
class FormLimits:
    """Limits of a form: total bytes, number of fields and uploads, bytes of a text field, bytes of a part's header line."""

    size: int = 256 * 1024
    fields: int = 200
    field_size: int = 64 * 1024
    header_size: int = 2048
    timeout_s: float = 30.0


# For forms of a sender who is not signed in: no more than nobody counts.
UNKNOWN_SENDER = FormLimits(size=UNCOUNTED, fields=20, timeout_s=BODY_TIMEOUT_S)


@dataclass
class Upload:
    """An uploaded file. `filename` is the last component of the name that the browser sent; never use it as a path to write to."""

    filename: str
    content_type: str
    file: IO[bytes]
    size: int = 0


class Fields(MultiDict[str]):
    """Fields of one submitted form in their order, and its uploads by field name. The text of a missing field is ""."""

    uploads: MultiMapping[Upload] = MultiDictProxy(MultiDict())

    def text(self, name: str) -> str:
        """Return the text of a field without surrounding white space."""
        return self.raw(name).strip()

    def raw(self, name: str) -> str:
        """Return the text of a field as it was typed, with Unix line breaks. Use it for passwords and long texts."""
        return self.get(name, "").replace("\r\n", "\n")

    def optional(self, name: str) -> str | None:
        """Return the text of a field, or None if it is empty."""
        return self.text(name) or None

    def number(self, name: str) -> int | None:
        """Return a field as a whole number. Return None if it is empty, and -1 if it is invalid, which operations refuse."""
        text = self.text(name)
        number = whole_number(text)
        return -1 if text and number is None else number

    def address(self, name: str) -> str:
        """Return a field as a web address. An address without a scheme gets `https://`."""
        return with_https(self.text(name))

    def all(self, name: str) -> list[str]:
        """Return all values of a field that may occur several times, such as check boxes."""
        return self.getall(name, [])

    def __bool__(self) -> bool:
        return len(self) > 0 or len(self.uploads) > 0

    def close(self) -> None:
        """Close the uploads."""
        for upload in self.uploads.values():
            upload.file.close()


NO_FIELDS = Fields()


def whole_number(text: str) -> int | None:
    """Parse a whole number of at most 15 digits. Return None if the text is anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None


async def read_form(request: web.Request, limits: FormLimits) -> Fields:
    """Read a form. Raise BadForm, BodyTooLarge, BodyTimeout or BodyBroken. An upload field without a chosen file is omitted."""
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
    return Fields(pairs)


async def _read_multipart(body: AsyncIterator[bytes], boundary: str, limits: FormLimits) -> Fields:
    fields, uploads = Fields(), MultiDict[Upload]()
    fields.uploads = uploads
    try:
        parser = multipart.PushMultipartParser(
            boundary, max_segment_count=limits.fields, max_header_size=limits.header_size, max_segment_size=limits.size, strict=True
        )
        with parser:
            part: multipart.MultipartSegment = None
            content = Upload("", "", BytesIO())
            async for chunk in body:
                for event in parser.parse(chunk):
                    # The head of a part, its bytes, and None at its end.
                    if isinstance(event, multipart.MultipartSegment):
                        part, content = event, _content(event)
                        if part.filename:
                            uploads.add(part.name or "", content)
                    elif event is not None:
                        content.file.write(event)
                        content.size += len(event)
                        if not part.filename and content.size > limits.field_size:
                            raise BadForm("a field is too long")
                    else:
                        content.file.seek(0)
                        if part.filename is None:
                            fields.add(part.name or "", content.file.read().decode())
    except (multipart.MultipartError, UnicodeDecodeError) as fault:
        fields.close()
        raise BadForm(type(fault).__name__) from None
    except BaseException:
        fields.close()
        raise
    return fields


def _content(part: multipart.MultipartSegment) -> Upload:
    if not part.filename:
        return Upload("", "", BytesIO())
    name = part.filename.replace("\\", "/").rpartition("/")[2]
    file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115  # the form closes it
    return Upload(name, part.content_type or "application/octet-stream", file)


def version_of(values: Mapping[str, object]) -> str:
    """Return one text with a digest of each of a form's values. The form sends it back in its hidden field `version`."""
    return ",".join(f"{name}:{_digest(value)}" for name, value in values.items())


def check_version(version: str, current: Mapping[str, object], typed: Mapping[str, object]) -> None:
    """Raise `fields_changed`, with the current texts, if somebody else has changed the typed fields since the form was shown.

    There is no conflict if the typed value equals the current one, or if the form has no version.
    """
    digests = dict(re.findall(r"([^:,]+):(\w+)", version))
    changed = {}
    for name, value in current.items():
        if name in digests and name in typed and typed[name] != value and digests[name] != _digest(value):
            changed[name] = "\n".join(filter(None, value)) if isinstance(value, list) else str(value)
    if changed:
        raise refusals.fields_changed(fields=changed)


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False).encode()).hexdigest()[:12]
