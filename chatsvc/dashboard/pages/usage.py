"""Usage of the account: the work of bots and its cost by day, with charts, tables and a CSV file."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape
from typing import NamedTuple

from aiohttp.web import Response

from chatsvc.dashboard import charts, formats
from chatsvc.dashboard.local_paths import with_query
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.templating import made_markup
from chatsvc.domain import times
from chatsvc.domain.analytics import NOTHING, Quality, UsageSummary, UsageTotals, sums, total
from chatsvc.domain.pricing import Usd
from chatsvc.domain.spreadsheets import BYTE_ORDER_MARK, row
from chatsvc.services.accounts.analytics import QualityReport

DEFAULT_DAYS = 30
CSV = "text/csv; charset=utf-8"
MESSAGES, RECORDS = ("answered", "unanswered", "handed_over"), ("requests", "appointments")


class Plot(NamedTuple):
    """A chart with the texts around it. Title, description, values of the axis from the top, first and last day."""

    key: str
    title: str
    description: str
    chart: charts.Chart | charts.StackedChart
    drawn: str
    scale: list[str]
    days: list[str]


class Card(NamedTuple):
    """A figure beside that of the days before. `change` is in percent, `path` leads to what was counted."""

    key: str
    value: str
    before: str
    change: str = ""
    note: str = ""
    path: str = ""


_date = lru_cache(1024)(formats.date)  # of days, which are the same ones at each visit


def _days(page: Page) -> int:
    text = page.query.get("days", "")
    return int(text) if text.isascii() and text.isdigit() and int(text) in range(1, 91) else DEFAULT_DAYS


async def show(page: Page) -> Response:
    days = _days(page)
    if page.account_id is None:
        return page.render("usage.html", report=None)
    chosen = page.query.get("bot") or None
    report: QualityReport = await page.perform("usage.quality", account=page.account_id, bot=chosen, days=days)
    summary: UsageSummary = await page.perform("usage", account=page.account_id, days=days)
    names = {one.bot.id: one.bot.name for one in summary.bots}
    by_bot = sums(summary.rows, lambda row: names.get(row.bot_id, row.bot_id))
    by_channel = sums(summary.rows, lambda row: row.channel)
    by_day = [(day, report.of_day(day)) for day in report.days]
    of_bots = [(bot, report.of_bot(bot.id)) for bot in report.bots]
    whole = UsageTotals(summary.messages, summary.tokens, summary.cost_micro_usd)
    return page.render(
        "usage.html",
        report=report,
        cards=_cards(page, report),
        stacks=[_stacked(page, by_day, key, names) for key, names in (("talks", MESSAGES), ("records", RECORDS))],
        by_day=[(day, _day_cell(page, day), _cells(page, one)) for day, one in by_day],
        of_bots=[(bot, _cells(page, one)) for bot, one in sorted(of_bots, key=lambda found: (-found[1].answered, found[0].name))],
        people=[
            (name, [formats.number(work.responses, page.language), *(_duration(page, work[place]) for place in (1, 2))])
            for name, work in report.people
        ],
        whole=_cells(page, total(one for _, one in by_day)),
        is_empty=not report.rows and not report.before,
        chosen=chosen,
        summary=summary,
        days=days,
        periods=(7, 30, 90),
        billed=[(_day_cell(page, day), _billed(page, one)) for day, one in summary.by_day],
        plots=[_bars(page, summary, key) for key in ("messages", *(["cost"] if summary.cost_micro_usd else []))],
        by_bot=_most_first(page, by_bot.items()),
        by_channel=_most_first(page, by_channel.items()),
        total=whole,
        sums=_billed(page, whole),
        today=report.days[-1],
        names=names,
        sends=await page.perform("usage.sends", account=page.account_id),
    )


def _cards(page: Page, report: QualityReport) -> list[Card]:
    now, before = total(report.rows.values()), total(report.before.values())
    asked, times, earlier = now.answered + now.unanswered, report.responses, report.responses_before
    notes = {"up": page.text("usage.thumbs_down", count=now.down)}
    if now.missed:
        notes["handed_over"] = page.text("usage.nobody_came", count=now.missed)
    if asked:
        notes["answered"] = page.text("usage.of_all", share=formats.percent(now.answered / asked, page.language))
    slowest = page.text("usage.response_p90", time=_duration(page, times.p90)) if times.responses else ""
    tried = page.text("usage.trials", cost=formats.money(now.trial_cost_micro_usd, page.language)) if now.trial_cost_micro_usd else ""
    counts = ("answered", "unanswered", "handed_over", "requests", "appointments", "up")
    chosen = report.bots[0].id if len(report.bots) == 1 else None
    paths = {
        "answered": with_query("/conversations", {"bot": chosen}),
        "handed_over": with_query("/conversations", {"bot": chosen, "status": "missed" if now.missed else None}),
        "requests": with_query("/inbox", {"bot": chosen, "kind": "request"}),
        "appointments": with_query("/inbox", {"bot": chosen, "kind": "appointment"}),
    }
    if chosen:
        paths |= dict.fromkeys(("unanswered", "up"), f"/bots/{chosen}/unanswered")
    return [
        *(_counted(page, key, now, before, notes.get(key, ""), paths.get(key, "")) for key in counts),
        Card("response", _duration(page, times.median), _duration(page, earlier.median), note=slowest),
        Card("cost", formats.money(now.cost_micro_usd, page.language), formats.money(before.cost_micro_usd, page.language), note=tried),
    ]


def _counted(page: Page, key: str, now: Quality, before: Quality, note: str, path: str) -> Card:
    value, earlier = getattr(now, key), getattr(before, key)
    change = formats.percent((value - earlier) / earlier, page.language) if earlier else ""
    shown, past = (formats.number(one, page.language) for one in (value, earlier))
    return Card(key, shown, past, f"+{change}" if change and value > earlier else change, note, path)


def _duration(page: Page, seconds: int | None) -> str:
    """Write a time in the unit that suits it, "–" for none."""
    if seconds is None:
        return "–"
    unit, size = next((pair for pair in (("hours", 3600), ("minutes", 60)) if seconds >= 2 * pair[1]), ("seconds", 1))
    return page.text(f"usage.{unit}", count=round(seconds / size))


def _stacked(page: Page, by_day: list[tuple[int, Quality]], key: str, names: tuple[str, ...]) -> Plot:
    rows = [[getattr(counts, name) for name in names] for _, counts in by_day]
    labels = [page.text(f"usage.{name}") for name in names]
    texts = [f"{_date(day, page.language)}: {_listed(page, labels, row)}" for (day, _), row in zip(by_day, rows, strict=True)]
    sums = _listed(page, labels, [sum(column) for column in zip(*rows, strict=True)])
    return _plot(page, by_day, key, charts.stacks(names, rows, texts), sums)


def _listed(page: Page, labels: Sequence[str], values: Sequence[int]) -> str:
    return ", ".join(f"{label} {formats.number(value, page.language)}" for label, value in zip(labels, values, strict=True))


def _most_first(page: Page, found: Iterable[tuple[str, UsageTotals]]) -> list[tuple[str, str]]:
    return [(name, _billed(page, usage)) for name, usage in sorted(found, key=lambda one: (-one[1].messages, one[0]))]


def _billed(page: Page, usage: UsageTotals) -> str:
    counts = [formats.number(count, page.language) for count in (usage.messages, usage.tokens)]
    return _row([*counts, formats.money(usage.cost_micro_usd, page.language)])


def _cells(page: Page, counts: Quality) -> str:
    shown = [formats.number(count, page.language) if count else "–" for count in counts[:7]]
    return _row([*shown, formats.money(counts.cost_micro_usd, page.language) if counts.cost_micro_usd else "–"])


def _day_cell(page: Page, day: int) -> str:
    return made_markup(f'<time datetime="{formats.machine_time(day)}">{_date(day, page.language)}</time>')


def _row(numbers: Sequence[str]) -> str:
    """Write cells of numbers. Hundreds of expressions in the template would take most of the page's time."""
    return made_markup("".join(f'<td class="number">{number}</td>' for number in numbers))


def _bars(page: Page, summary: UsageSummary, key: str) -> Plot:
    rows = [(usage.cost_micro_usd if key == "cost" else usage.messages) for _, usage in summary.by_day]
    write = formats.money if key == "cost" else formats.number
    texts = [
        page.text(f"usage.day_{key}", day=_date(day, page.language), cost=write(row, page.language), count=row)
        for (day, _), row in zip(summary.by_day, rows, strict=True)
    ]
    whole = summary.cost_micro_usd if key == "cost" else summary.messages
    return _plot(page, summary.by_day, key, charts.bars(rows, texts), write(whole, page.language))


def _plot(page: Page, by_day: Sequence[tuple[int, object]], key: str, chart: charts.Chart | charts.StackedChart, total: str) -> Plot:
    language = page.language
    first, last = (_date(by_day[place][0], language) for place in (0, -1))
    if key == "cost":
        scale = [formats.money(round(part * chart.top), language) for part in (1, 0.5, 0)]
    else:
        scale = [formats.number(chart.top, language), formats.number(chart.top / 2, language, 0 if chart.top % 2 == 0 else 1), "0"]
    description = page.text("usage.described", first=first, last=last, total=total)
    days = [first] if first == last else [first, last]
    return Plot(key, page.text(f"usage.chart_{key}"), description, chart, _drawn(chart), scale, days)


def _drawn(chart: charts.Chart | charts.StackedChart) -> str:
    """Write the bars of a chart, as `_row` does."""
    if isinstance(chart, charts.Chart):
        bars = [
            f'<rect class="bar{" unfinished" if bar.unfinished else ""}" x="{bar.x}" y="{bar.y}" width="7" height="{bar.height}">'
            f"<title>{escape(bar.text)}</title></rect>"
            for bar in chart.bars
        ]
    else:
        bars = [
            ('<g class="unfinished">' if bar.unfinished else "<g>")
            + f"<title>{escape(bar.text)}</title>"
            + "".join(f'<path class="{chart.names[place]}" d="{outline}"/>' for place, outline in bar.parts)
            + "</g>"
            for bar in chart.stacks
            if bar.parts
        ]
    return made_markup("".join(bars))


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
    return page.download((BYTE_ORDER_MARK + "".join(lines)).encode(), CSV, file)
