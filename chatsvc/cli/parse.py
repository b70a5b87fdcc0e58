"""`chatsvc parse`: show the values that slot filling reads in a sentence. It needs no service, no configuration and no data folder."""

from datetime import UTC, datetime
from pathlib import Path

import click

from chatsvc import timezones
from chatsvc.cli.files import InputPath, read_text
from chatsvc.cli.operations import command, options
from chatsvc.cli.output import echo, fields, show
from chatsvc.domain import folding
from chatsvc.domain.errors import CommandError
from chatsvc.domain.escaping import one_line
from chatsvc.domain.shapes import Json
from chatsvc.language import values
from chatsvc.language.contacts import knows_country
from chatsvc.timezones import use_newest_zones


@command(
    None,
    "parse",
    "[text]",
    *options(file=InputPath(), now="LOCAL_TIME", timezone=(str, "Europe/Istanbul"), country=(str, "TR"), language=str),
)
def parse(text: str | None, file: Path | None, now: str | None, timezone: str, country: str, language: str | None, as_json: bool) -> None:
    if (text is None) == (file is None):
        raise click.UsageError("give a TEXT or --file, one of them")
    clock = _clock(now, timezone)
    if not knows_country(country.upper()):
        raise CommandError(f"{country!r} is no country; one is written with two letters, like TR")
    if language is not None and not folding.is_tag(language):
        raise CommandError(f"{language!r} is no language tag; one is written like tr or en-GB")
    if file is None:
        show(_read(text or "", clock, country.upper(), language), as_json)
        return
    lines = [line.strip() for line in read_text(file).splitlines() if line.strip()]
    readings = [_read(line, clock, country.upper(), language) for line in lines]
    if as_json:
        show(readings, True)
        return
    for line, reading in zip(lines, readings, strict=True):
        echo(one_line(line))
        fields(reading, "  ")


def _clock(now: str | None, timezone: str) -> datetime:
    use_newest_zones()
    zone = timezones.zone(timezone)
    if zone is None:
        raise CommandError(f"{timezone!r} is no time zone; one is written like Europe/Istanbul")
    if now is None:
        return datetime.now(UTC).astimezone(zone).replace(tzinfo=None)
    try:
        clock = datetime.fromisoformat(now.strip())
    except ValueError:
        raise CommandError(f"{now!r} is no time; one is written like 2026-11-20T10:00") from None
    if clock.tzinfo is not None:
        raise CommandError(f"{now!r} has a time zone of its own; write the local time, like 2026-11-20T10:00, and --timezone")
    return clock


def _read(text: str, now: datetime, country: str, language: str | None) -> Json:
    reading = values.read(text, now=now, language=language, country=country)
    return {
        "language": reading.language,
        "date": reading.date.value.isoformat() if reading.date else None,
        "time": f"{reading.time.value:%H:%M}" if reading.time else None,
        "email": reading.email.value if reading.email else None,
        "phone": reading.phone.value if reading.phone else None,
        "name": reading.name.value if reading.name else None,
    }
