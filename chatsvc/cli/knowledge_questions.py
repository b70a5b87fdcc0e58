"""`chatsvc knowledge search`, `lint` and `unanswered`: questions and the entries that answer them."""

from typing import Any

import click

from chatsvc.cli import progress
from chatsvc.cli.files import InputFile, InputPath
from chatsvc.cli.knowledge_reading import read_knowledge, read_text
from chatsvc.cli.operations import command, option, options
from chatsvc.cli.output import call, counted, echo, show
from chatsvc.domain.terminal import one_line


@command(None, "search", "bot", "[text]", *options(file=InputPath()), key="knowledge_search")
def search(ctx: click.Context, bot: str, text: str | None, file: InputFile | None, as_json: bool) -> None:
    if (text is None) == (file is None):
        raise click.UsageError("give a TEXT or --file, one of them")
    questions = [text] if text is not None else [line.strip() for line in read_text(file).splitlines() if line.strip()]  # type: ignore[arg-type]
    with progress.shown("searching"):
        found = call(ctx, "knowledge.search", bot=bot, questions=questions)
    if as_json:
        show(found if file else found[0], True)
        return
    for finding in found:
        echo(one_line(finding["question"]))
        echo(one_line(f"  {finding['decision']} ({finding['confidence']:.2f}, {finding['language']})"))
        for entry in finding["entries"]:
            echo(one_line(f"  {entry['score']:.2f}  {entry['question']}  [{entry['id']}]"))
            if entry["why"]:
                echo(f"        {one_line('; '.join(entry['why']))}")


@command(None, "lint", "bot", option("--all", "everything", is_flag=True), key="knowledge_lint")
def lint(ctx: click.Context, bot: str, everything: bool, as_json: bool) -> None:
    # Here and not in the service: it takes a processor to itself, for minutes where there is much to look at.
    from chatsvc.services.knowledge import knowledge_lint

    with progress.shown("reading") as told:
        language, entries, synonyms = read_knowledge(ctx, bot)
        found = knowledge_lint.findings(entries, language, [group.words for group in synonyms], everything=everything, progress=told)
    searched, phrasings = knowledge_lint.searched(entries)
    if searched < phrasings and not everything:
        echo(f"{searched:,} of {phrasings:,} phrasings were searched for; --all searches for every one", err=True)
    if as_json:
        rows = [{"kind": one.kind, "entry": one.entry, "other": one.other, "text": one.text} for one in found]
        show([{name: value for name, value in row.items() if value is not None} for row in rows], True)
        return
    for one in found:
        echo(one_line(f"{one.kind:<18}  {one.text}  [{one.entry}{f', {one.other}' if one.other else ''}]"))
    echo(f"{counted(len(entries), 'entry', 'entries')}, {counted(len(found), 'finding', 'findings')}", err=True)


@command(
    None,
    "unanswered",
    "bot",
    *options(limit=(click.IntRange(1, 10000), 20)),
    option("--all", "with_answered", is_flag=True),
    *options(markdown=bool, clear=bool),
    key="knowledge_unanswered",
)
def unanswered(ctx: click.Context, bot: str, limit: int, with_answered: bool, markdown: bool, clear: bool, as_json: bool) -> None:
    # Before the call, for after it root has become the data folder's owner, who may not be allowed to read the program.
    from chatsvc.domain.knowledge_files.writing import question

    if markdown and (clear or as_json):
        raise click.UsageError("--markdown goes neither with --json nor with --clear")
    if clear:
        show(call(ctx, "knowledge.forget_unanswered", bot=bot), as_json)
        return
    with progress.shown("grouping"):
        found = call(ctx, "knowledge.unanswered", bot=bot, limit=limit, answered=None if with_answered else False)
    if markdown:
        for group in found:
            echo(question(group["question"], group["asked"][1:], group["language"]) + "\n")
    elif as_json or not found:
        show(found, as_json)
    else:
        for group in found:
            _describe(group)


def _describe(group: dict[str, Any]) -> None:
    nearest = group["nearest"]
    echo(one_line(f"{group['count']:>6}  {group['question']}  ({group['language']}, {group['last_asked_at']})"))
    for other in group["asked"][1:]:
        echo(f"        {one_line(other)}")
    if nearest:
        echo(one_line(f"        nearest: {nearest['score']:.2f}  {nearest['question']}  [{nearest['id']}]"))
