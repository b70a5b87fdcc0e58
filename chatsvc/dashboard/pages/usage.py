"""Usage of the account: the replies of its bots and their cost by day, with charts, tables and a CSV file."""

from collections.abc import Sequence
from typing import NamedTuple

from aiohttp.web import Response

from chatsvc.dashboard import localization
from chatsvc.dashboard.page import Page
from chatsvc.domain import times
from chatsvc.domain.analytics import NOTHING, Quality, UsageSummary, UsageTotals, sums, total
from chatsvc.domain.escaping import BYTE_ORDER_MARK, row
from chatsvc.domain.plans import Usd
from chatsvc.services.accounts.analytics import QualityReport
from chatsvc.web.forms import whole_number

DEFAULT_DAYS = 30
COUNTS = ("answered", "unanswered", "handed_over", "requests", "appointments", "up")
STACKS = {"talks": COUNTS[:3], "records": ("appointments", "other_requests")}
SLOT, BAR, HEIGHT = 10, 7.0, 100.0  # of a bar, in units of the drawing, which is stretched to the page
_STEPS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)


class Chart(NamedTuple):
    """A chart of stacked bars, which the template draws as SVG.

    `top` is the value at the upper edge. Each bar has a text, and a pair (series, SVG path) for each value that is not 0.
    """

    key: str
    series: Sequence[str]
    days: list[int]
    totals: list[int]
    width: int
    top: float
    bars: list[tuple[str, list[tuple[str, str]]]]


def chart(key: str, series: Sequence[str], days: list[int], rows: Sequence[Sequence[int]], texts: Sequence[str]) -> Chart:
    """Lay out a chart with one bar for each day. `rows` has a value of each series for each day, `texts` the description of each bar."""
    top, bars = ceiling(max(map(sum, rows), default=0)), list[tuple[str, list[tuple[str, str]]]]()
    if key != "cost":
        top += top % 2  # half of it is a number too
    for index, (values, text) in enumerate(zip(rows, texts, strict=True)):
        x, floor, parts = index * SLOT + (SLOT - BAR) / 2, HEIGHT, []
        for name, value in zip(series, values, strict=True):
            height = HEIGHT * value / top
            if value:
                parts.append((name, f"M{x:g} {floor:.5g}v-{height:.5g}h{BAR:g}v{height:.5g}z"))
            floor -= height
        bars.append((text, parts))
    return Chart(key, series, days, [sum(column) for column in zip(*rows, strict=True)], len(rows) * SLOT, top, bars)


def ceiling(value: float) -> float:
    """Return a round number of at least `value`, as the upper edge of a chart. Return 1 if `value` is 0."""
    if value <= 0:
        return 1.0
    power = 10.0 ** (len(str(int(value))) - 1)
    return next(step * power for step in _STEPS if step * power >= value)


def _days(page: Page) -> int:
    days = whole_number(page.query.get("days", "")) or 0
    return days if 1 <= days <= 90 else DEFAULT_DAYS


async def show(page: Page) -> Response:
    days = _days(page)
    if page.account_id is None:
        return page.render("usage.html", report=None)
    chosen = page.query.get("bot") or None
    report: QualityReport = await page.perform("usage.quality", account=page.account_id, bot=chosen, days=days)
    summary: UsageSummary = await page.perform("usage", account=page.account_id, days=days)
    names = {bot.id: bot.name for bot, _ in summary.bots}
    by_day = [(day, report.of_day(day)) for day in report.days]
    of_bots = [(bot, report.of_bot(bot.id)) for bot in report.bots]
    now, single = total(report.rows.values()), report.bots[0].id if len(report.bots) == 1 else None
    return page.render(
        "usage.html",
        report=report,
        counts=COUNTS,
        now=now,
        earlier=total(report.before.values()),
        paths={
            "answered": page.url("/conversations", bot=single),
            "handed_over": page.url("/conversations", bot=single, status="missed" if now.missed else None),
            "requests": page.url("/inbox", bot=single),
            "appointments": page.url("/inbox", bot=single, kind="appointment"),
            **(dict.fromkeys(("unanswered", "up"), f"/bots/{single}/unanswered") if single else {}),
        },
        stacks=[_stacked(page, key, series, by_day) for key, series in STACKS.items()],
        by_day=by_day,
        of_bots=sorted(of_bots, key=lambda pair: (-pair[1].answered, pair[0].name)),
        whole=total(counts for _, counts in by_day),
        is_empty=not report.rows and not report.before,
        chosen=chosen,
        summary=summary,
        days=days,
        periods=(7, 30, 90),
        plots=[_billed(page, summary, key) for key in ("messages", *(["cost"] if summary.total.cost_micro_usd else []))],
        by_bot=_most_first(sums(summary.rows, lambda row: names.get(row.bot_id, row.bot_id))),
        by_channel=_most_first(sums(summary.rows, lambda row: row.channel)),
        total=summary.total,
        names=names,
        sends=await page.perform("usage.sends", account=page.account_id),
        duration=lambda seconds: _duration(page, seconds),
        change=lambda name, now, earlier: _change(page, getattr(now, name), getattr(earlier, name)),
    )


def _change(page: Page, now: int, earlier: int) -> str:
    """Return by how many percent a figure has changed, as text. Return "" if the earlier figure is 0."""
    return ("+" if now > earlier else "") + localization.percent((now - earlier) / earlier, page.language) if earlier else ""


def _duration(page: Page, seconds: int | None) -> str:
    if seconds is None:
        return "–"
    unit, size = next((pair for pair in (("hours", 3600), ("minutes", 60)) if seconds >= 2 * pair[1]), ("seconds", 1))
    return page.text(f"usage.{unit}", count=round(seconds / size))


def _stacked(page: Page, key: str, series: Sequence[str], by_day: list[tuple[int, Quality]]) -> Chart:
    rows = [[getattr(counts, name) for name in series] for _, counts in by_day]
    labels, texts = [page.text(f"usage.{name}") for name in series], []
    for (day, _), values in zip(by_day, rows, strict=True):
        counts = (f"{label} {localization.number(value, page.language)}" for label, value in zip(labels, values, strict=True))
        texts.append(f"{localization.date(day, page.language)}: {', '.join(counts)}")
    return chart(key, series, [day for day, _ in by_day], rows, texts)


def _billed(page: Page, summary: UsageSummary, key: str) -> Chart:
    days, texts = [day for day, _ in summary.by_day], []
    values = [usage.cost_micro_usd if key == "cost" else usage.messages for _, usage in summary.by_day]
    for day, value in zip(days, values, strict=True):
        cost = localization.money(value, page.language)
        texts.append(page.text(f"usage.day_{key}", day=localization.date(day, page.language), cost=cost, count=value))
    return chart(key, ("bar",), days, [[value] for value in values], texts)


def _most_first(usage: dict[str, UsageTotals]) -> list[tuple[str, UsageTotals]]:
    return sorted(usage.items(), key=lambda pair: (-pair[1].messages, pair[0]))


async def download(page: Page) -> Response:
    if page.account_id is None:
        return page.redirect("/usage")
    chosen = page.query.get("bot") or None
    report: QualityReport = await page.perform("usage.quality", account=page.account_id, bot=chosen, days=_days(page))
    lines = [row("date", "bot_id", "bot", *Quality._fields[:8], "cost_usd", "trial_tokens", "trial_cost_usd", "missed")]
    for day in report.days:
        for bot in report.bots:
            counts = report.rows.get((day, bot.id), NOTHING)
            costs = Usd(counts.cost_micro_usd).text, counts.trial_tokens, Usd(counts.trial_cost_micro_usd).text, counts.missed
            lines.append(row(times.day(day), bot.id, bot.name, *counts[:8], *costs))
    file = f"usage-{times.day(report.days[0])}-{times.day(report.end)}.csv"
    # Spreadsheets take a file without the mark at its beginning for Latin-1.
    return page.download((BYTE_ORDER_MARK + "".join(lines)).encode(), "text/csv; charset=utf-8", file)
