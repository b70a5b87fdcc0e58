"""Usage of the account: charts, tables and a CSV file of messages, tokens and cost."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from chatsvc.dashboard import charts, formats
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain import times
from chatsvc.domain.analytics import UsageSummary, UsageTotals, sums
from chatsvc.domain.pricing import Usd
from chatsvc.domain.spreadsheets import row
from chatsvc.http.response import HttpResponse

PERIODS = (7, 30, 90)
DEFAULT_DAYS = 30
CSV = "text/csv; charset=utf-8"


class Plot(NamedTuple):
    """A chart with the texts around it. Title, description, values of the axis from the top, first and last day."""

    key: str
    title: str
    description: str
    chart: charts.Chart
    scale: list[str]
    days: list[str]


def _days(page: Page) -> int:
    text = page.query.get("days", "")
    return int(text) if text.isascii() and text.isdigit() and int(text) in range(1, 91) else DEFAULT_DAYS


async def show(page: Page) -> HttpResponse:
    """Show the usage of a period in days."""
    days = _days(page)
    if page.account_id is None:
        return page.render("usage.html", summary=None)
    summary: UsageSummary = await page.perform("usage", account=page.account_id, days=days)
    names = _names(summary)
    by_bot = sums(summary.rows, lambda row: names.get(row.bot_id, row.bot_id))
    by_channel = sums(summary.rows, lambda row: row.channel)
    return page.render(
        "usage.html",
        summary=summary,
        days=days,
        periods=PERIODS,
        plots=[_messages(page, summary), *([_cost(page, summary)] if summary.cost_micro_usd else [])],
        by_bot=_most_first(by_bot.items()),
        by_channel=_most_first(by_channel.items()),
        total=UsageTotals(summary.messages, summary.tokens, summary.cost_micro_usd),
        today=summary.by_day[-1][0],
        names=names,
        whatsapp=await page.perform("usage.whatsapp", account=page.account_id),
    )


def _names(summary: UsageSummary) -> dict[str, str]:
    return {one.bot.id: one.bot.name for one in summary.bots}


def _most_first(found: Iterable[tuple[str, UsageTotals]]) -> list[tuple[str, UsageTotals]]:
    return sorted(found, key=lambda one: (-one[1].messages, one[0]))


def _messages(page: Page, summary: UsageSummary) -> Plot:
    language = page.language
    values = [float(usage.messages) for _, usage in summary.by_day]
    texts = [page.text("usage.day_messages", day=formats.date(day, language), count=usage.messages) for day, usage in summary.by_day]
    chart = charts.bars(values, texts)
    digits = 0 if chart.top % 2 == 0 else 1
    scale = [formats.number(chart.top, language), formats.number(chart.top / 2, language, digits), "0"]
    total = formats.number(summary.messages, language)
    return _plot(page, summary, "messages", chart, scale, total)


def _cost(page: Page, summary: UsageSummary) -> Plot:
    language = page.language
    shown = [formats.money(usage.cost_micro_usd, language) for _, usage in summary.by_day]
    texts = [
        page.text("usage.day_cost", day=formats.date(day, language), cost=cost)
        for (day, _), cost in zip(summary.by_day, shown, strict=True)
    ]
    chart = charts.bars([float(usage.cost_micro_usd) for _, usage in summary.by_day], texts)
    scale = [formats.money(round(part * chart.top), language) for part in (1, 0.5, 0)]
    return _plot(page, summary, "cost", chart, scale, formats.money(summary.cost_micro_usd, language))


def _plot(page: Page, summary: UsageSummary, key: str, chart: charts.Chart, scale: list[str], total: str) -> Plot:
    first, last = (formats.date(summary.by_day[place][0], page.language) for place in (0, -1))
    description = page.text("usage.described", first=first, last=last, total=total)
    return Plot(key, page.text(f"usage.chart_{key}"), description, chart, scale, [first] if first == last else [first, last])


async def download(page: Page) -> HttpResponse:
    """Send the usage by day, bot and channel as a CSV file."""
    if page.account_id is None:
        return page.redirect("/usage")
    summary: UsageSummary = await page.perform("usage", account=page.account_id, days=_days(page))
    names = _names(summary)
    lines = [row("day", "bot_id", "bot", "channel", "messages", "tokens", "cost_usd")]
    for one in sorted(summary.rows):
        name, usage = names.get(one.bot_id), one.usage
        lines.append(row(times.day(one.day), one.bot_id, name, one.channel, *usage[:2], Usd(usage.cost_micro_usd).text))
    file = f"usage-{times.day(summary.by_day[0][0])}-{times.day(summary.end)}.csv"
    # Spreadsheets take a file without the mark at its beginning for Latin-1.
    return page.download(("\ufeff" + "".join(lines)).encode(), CSV, file)


ROUTES = (
    Route("GET", "/usage", show, Access.READER),
    Route("GET", "/usage.csv", download, Access.READER),
)
