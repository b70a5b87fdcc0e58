"""`chatsvc knowledge`: add, list, remove, history, undo, search, test, phrase, lint, unanswered, site, export."""

import sys
import time
from html import escape
from pathlib import Path
from typing import Any

import click

from chatsvc.cli.files import InputPath, OutputFile, OutputPath, parse_knowledge, read_files, read_text, written
from chatsvc.cli.operations import command, group, operation, option, options
from chatsvc.cli.output import Report, call, call_all, counted, echo, progress, show
from chatsvc.domain import escaping, refusals
from chatsvc.domain.errors import CommandError
from chatsvc.domain.escaping import one_line
from chatsvc.domain.knowledge_findings import MOST_SEARCHED
from chatsvc.domain.models import Bot, Entry, Synonyms
from chatsvc.domain.websites import EVERY_DAYS, MOST_PAGES

_POLL_S = 1.0
_SITE_POLL_S = 0.5

knowledge = group("knowledge")


@command(knowledge, "add", "bot", click.argument("files", nargs=-1, required=True, type=InputPath()), *options(dry_run=bool))
def add(ctx: click.Context, bot: str, files: tuple[Path, ...], dry_run: bool, as_json: bool) -> None:
    if not dry_run:
        with progress("adding"):
            added = call(ctx, "knowledge.add", bot=bot, files=read_files(ctx, bot, files))
        show(added, as_json)
        return
    with progress("reading") as report:
        begun = call(ctx, "knowledge.preview", bot=bot, files=read_files(ctx, bot, files))
        preview = _finished(ctx, bot, begun, report, "the preview could not be made; the log says why")
    if as_json:
        show(preview["changes"], True)
        return
    for change in preview["changes"]:
        echo(one_line(f"{change['kind']:<8} {change['times']:>5}  {change['question']}  ({change['origin']})"))
        echo(one_line(f"                {change['before'] or '-'}  ->  {change['after'] or '-'}"))
    kinds = ", ".join(f"{preview['counts'].get(kind, 0)} {kind}" for kind in ("lost", "changed", "gained"))
    echo(f"{counted(preview['questions'], 'past question', 'past questions')}: {kinds}; nothing was stored", err=True)


def _finished(ctx: click.Context, bot: str, computation: dict[str, Any], report: Report, failure: str) -> dict[str, Any]:
    """Wait until a computation over a bot's knowledge is done, and return it. Raises CommandError(`failure`) if it failed."""
    pause_s = 0.05
    while computation["state"] == "running":
        report(computation["step"], computation["done"], computation["of"])
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _POLL_S)
        computation = call(ctx, "knowledge.preview_show", bot=bot, preview=computation["id"])
    if computation["state"] != "done":
        raise CommandError(failure)
    return computation


operation(knowledge, "knowledge.list", "bot", columns="id language question alt source")
operation(knowledge, "knowledge.remove", "bot", "entry")


@command(knowledge, "history", "bot", "[change]", *options(limit=(click.IntRange(1, 500), 20)))
def history(ctx: click.Context, bot: str, change: str | None, limit: int, as_json: bool) -> None:
    if change is not None:
        show(call(ctx, "knowledge.show_change", bot=bot, change=change), as_json)
        return
    changes = call_all(ctx, "knowledge.history", most=limit, bot=bot)
    rows = changes if as_json else [{**change, "by": change["actor"]["name"] or change["actor"]["id"]} for change in changes]
    show(rows, as_json, ("id", "at", "by", "kind", "title", "undone"))


operation(
    knowledge,
    "knowledge.undo",
    "bot",
    "change",
    shown=lambda done: {name: value for name, value in done.items() if not name.startswith("entries_")},
)


@command(
    knowledge,
    "export",
    "bot",
    option("--format", "form", type=click.Choice(["jsonl", "csv", "markdown"])),
    *options(output=OutputPath(over=True)),
)
def export(ctx: click.Context, bot: str, form: str | None, output: OutputFile | None, as_json: bool) -> None:
    from chatsvc.domain import knowledge_files

    if as_json and (form or output):
        raise click.UsageError("--json prints the entries; it goes neither with --format nor with --output")
    by_ending = {"": "jsonl", ".jsonl": "jsonl", ".csv": "csv", ".md": "markdown", ".markdown": "markdown"}
    form = form or by_ending.get(output.suffix.lower() if output else "")
    if form is None:
        raise click.UsageError(f"{output} ends with none of .jsonl, .csv and .md: say with --format what it is to be")
    exported = call(ctx, "knowledge.export", bot=bot)
    if as_json:
        show(exported["entries"], True)
        return
    entries = [Entry(**{**entry, "alt": tuple(entry["alt"])}) for entry in exported["entries"]]
    parts = knowledge_files.WRITERS[form](entries, [Synonyms(tuple(group["words"]), group["source"]) for group in exported["synonyms"]])
    # Elsewhere than in a terminal every character stays as it is: `knowledge add` has to read the same entries again.
    shown = escaping.escape if output is None and sys.stdout.isatty() else str
    with written(output) as file:
        for part in parts:
            file.write(shown(part).encode())
    if output:
        echo(f"{counted(len(entries), 'entry', 'entries')} written to {one_line(output)}", err=True)


@command(knowledge, "search", "bot", "[text]", *options(file=InputPath()))
def search(ctx: click.Context, bot: str, text: str | None, file: Path | None, as_json: bool) -> None:
    if (text is None) == (file is None):
        raise click.UsageError("give a TEXT or --file, one of them")
    questions = [text] if text is not None else [line.strip() for line in read_text(file).splitlines() if line.strip()]  # type: ignore[arg-type]
    with progress("searching"):
        findings = call(ctx, "knowledge.search", bot=bot, questions=questions)
    if as_json:
        show(findings if file else findings[0], True)
        return
    for finding in findings:
        echo(one_line(finding["question"]))
        echo(one_line(f"  {finding['decision']} ({finding['confidence']:.2f}, {finding['language']})"))
        for entry in finding["entries"]:
            echo(one_line(f"  {entry['score']:.2f}  {entry['question']}  [{entry['id']}]"))
            if entry["why"]:
                echo(f"        {one_line('; '.join(entry['why']))}")


@command(knowledge, "phrase", "bot", *options(tier=str, apply="DRAFT"))
def phrase(ctx: click.Context, bot: str, tier: str | None, apply: str | None, as_json: bool) -> None:
    if apply is not None:
        show(call(ctx, "knowledge.phrase_apply", bot=bot, preview=apply), as_json)
        return
    with progress("asking the model") as report:
        begun = call(ctx, "knowledge.phrase", bot=bot, tier=tier)
        draft = _finished(ctx, bot, begun, report, "the draft could not be made; the log says why")
    if as_json:
        show({name: value for name, value in draft.items() if name != "questions"}, True)
        return
    for entry in draft["phrasings"]:
        echo(one_line(entry["question"]))
        for text in entry["alt"]:
            echo(one_line(f"  {text}"))
    for change in draft["changes"]:
        echo(one_line(f"{change['kind']:<8}  {change['question']}: {change['before'] or '-'} -> {change['after'] or '-'}"))
    echo(f"nothing is changed yet: chatsvc knowledge phrase {bot} --apply {draft['id']}", err=True)


@command(knowledge, "lint", "bot", option("--all", "everything", is_flag=True))
def lint(ctx: click.Context, bot: str, everything: bool, as_json: bool) -> None:
    with progress("reading") as report:
        begun = call(ctx, "knowledge.lint", bot=bot, everything=everything)
        check = _finished(ctx, bot, begun, report, "the check could not be made; the log says why")
    findings, phrasings = check["findings"], check["questions"]
    if phrasings > MOST_SEARCHED and not everything:
        echo(f"{MOST_SEARCHED:,} of {phrasings:,} phrasings were searched for; --all searches for every one", err=True)
    if as_json:
        show(findings, True)
        return
    for finding in findings:
        ids = ", ".join(finding[name] for name in ("entry", "other") if name in finding)
        echo(one_line(f"{finding['kind']:<21}  {finding['text']}{f'  [{ids}]' if ids else ''}"))
    echo(f"{counted(check['entries'], 'entry', 'entries')}, {counted(len(findings), 'finding', 'findings')}", err=True)


@command(
    knowledge,
    "unanswered",
    "bot",
    *options(limit=(click.IntRange(1, 10000), 20)),
    option("--all", "with_answered", is_flag=True),
    *options(markdown=bool, clear=bool),
)
def unanswered(ctx: click.Context, bot: str, limit: int, with_answered: bool, markdown: bool, clear: bool, as_json: bool) -> None:
    from chatsvc.domain.knowledge_files import question

    if markdown and (clear or as_json):
        raise click.UsageError("--markdown goes neither with --json nor with --clear")
    if clear:
        show(call(ctx, "knowledge.forget_unanswered", bot=bot), as_json)
        return
    with progress("grouping"):
        groups = call(ctx, "knowledge.unanswered", bot=bot, limit=limit, answered=None if with_answered else False)
    if markdown:
        for group in groups:
            echo(question(group["question"], group["asked"][1:], group["language"]) + "\n")
    elif as_json or not groups:
        show(groups, as_json)
    else:
        for group in groups:
            echo(one_line(f"{group['count']:>6}  {group['question']}  ({group['language']}, {group['last_asked_at']})"))
            for other in group["asked"][1:]:
                echo(f"        {one_line(other)}")
            if nearest := group["nearest"]:
                echo(one_line(f"        nearest: {nearest['score']:.2f}  {nearest['question']}  [{nearest['id']}]"))


def _print_site(website: dict[str, Any]) -> None:
    difference, pages, edited = website.pop("difference"), website.pop("pages"), website.pop("edited")
    show(website, False)
    for kind, entries in {**(difference or {}), "edited": edited}.items():
        for entry in entries:
            echo(one_line(f"{kind:<8} {entry['question']} ({entry['source']})"))
    show(pages, False, ("url", "state", "reason", "entries"))


site = group("site", "knowledge_site")
knowledge.add_command(site)

operation(
    site,
    "site.add",
    "bot",
    "url",
    *options(include=["GLOB"], exclude=["GLOB"], max_pages=(int, MOST_PAGES)),
    option("--every", "every_days", type=int, metavar="DAYS", default=EVERY_DAYS, show_default=True),
    *options(review=(click.Choice(["on", "off"]), "on")),
    arguments=lambda given: {**given, **{name: list(given[name]) for name in ("include", "exclude")}, "review": given["review"] == "on"},
)
operation(site, "site.list", "bot", columns="id url state reason read_at changes")
operation(site, "site.show", "site ID", prints=_print_site)


@command(site, "sync", "site ID")
def sync(ctx: click.Context, site: str, as_json: bool) -> None:
    with progress("reading") as report:
        website = call(ctx, "site.sync", site=site)
        while website["state"] == "reading":
            report("reading", website["progress"]["done"], website["progress"]["of"])
            time.sleep(_SITE_POLL_S)
            website = call(ctx, "site.state", site=site)
    show(website, as_json)
    if website["state"] == "failed":
        raise CommandError(f"the website could not be read: {website['reason']}")


operation(site, "site.apply", "site ID")
operation(site, "site.discard", "site ID")
operation(site, "site.remove", "site ID", confirm="this removes the website and its entries")


@command(knowledge, "test", "[bot]", *options(file=click.Path(exists=True, dir_okay=False), junit=OutputPath(over=True)))
def test(ctx: click.Context, bot: str | None, file: str | None, junit: OutputFile | None, as_json: bool) -> None:
    if (bot is None) == (file is None):
        raise click.UsageError("give a BOT or --file, one of them")
    with progress("testing"):
        outcomes = call(ctx, "test.run", bot=bot) if file is None else _of_file(file)
    if junit:
        with written(junit) as output:
            output.write(_junit(outcomes).encode())
    rows = outcomes if as_json else [{**outcome, "why": outcome["why"] or None} for outcome in outcomes]
    show(rows, as_json, ("passed", "ask", "decision", "entry", "why"))
    if failed := sum(not outcome["passed"] for outcome in outcomes):
        raise CommandError(f"{failed} of {counted(len(outcomes), 'test', 'tests')} failed")


def _of_file(file: str) -> list[dict[str, Any]]:
    """Run the tests written in a bot's file, in this process, and return their outcomes."""
    from chatsvc.cli.bot_folder import read_bot
    from chatsvc.control.rendering import test_outcome
    from chatsvc.domain import times
    from chatsvc.services.accounts.bot_files import differing_of
    from chatsvc.services.knowledge import bot_tests
    from chatsvc.services.knowledge.knowledge import from_file

    path = Path(file)
    faults: list[dict[str, Any]] = []
    here = path.absolute().is_relative_to(Path.cwd()) and ".." not in path.parts
    folder = Path.cwd() if here else path.parent
    read = read_bot(folder, str(path.absolute().relative_to(folder.absolute())), faults)
    if faults:
        raise refusals.bot_file_invalid(file=path.name, faults=faults)
    nobody = Bot("", "", path.stem, None, "", active=True, messages_used=0, created_at=0, updated_at=0)
    bot = nobody._replace(**differing_of(nobody, read.parts))
    (parsed,) = parse_knowledge([(read.knowledge, bot.language)])
    files = [from_file(item) for item in parsed or ()]
    index = bot_tests.index_of(
        bot, [entry for item in files for entry in item.entries], [group for item in files for group in item.synonyms]
    )
    return [test_outcome(item) for item in bot_tests.outcomes(bot, index, times.now_ms())]


def _junit(outcomes: list[dict[str, Any]]) -> str:
    failed = sum(not outcome["passed"] for outcome in outcomes)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuite name="chatsvc" tests="{len(outcomes)}" failures="{failed}">']
    for outcome in outcomes:
        head = f'  <testcase classname="chatsvc" name="{_xml(outcome["ask"])}"'
        fault = f'><failure message="{_xml(outcome["why"])}">{_xml(outcome["reply"])}</failure></testcase>'
        lines.append(head + ("/>" if outcome["passed"] else fault))
    return "\n".join([*lines, "</testsuite>", ""])


def _xml(text: str) -> str:
    return escape("".join(letter for letter in text if letter in "\t\n\r" or (letter >= " " and letter not in "\ufffe\uffff")))
