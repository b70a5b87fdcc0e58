"""`chatsvc knowledge` as its users have it: formats, faults, lint, what was asked in vain, export; alone and beside a service."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import Site, usage_error

FAQ = Path(__file__).with_name("knowledge.md").read_text("utf-8")


@pytest.fixture
def bot(site: Site) -> str:
    return site.bot(site.account("Acme", plan="enterprise"), language="en")


def put(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def known(site: Site, bot: str) -> list[dict[str, Any]]:
    return [{name: value for name, value in entry.items() if name != "id"} for entry in site.json("knowledge", "list", bot)]


def test_every_format_is_added_and_replaced_by_its_name(site: Site, bot: str, tmp_path: Path) -> None:
    files = [
        put(tmp_path, "faq.md", FAQ),
        put(tmp_path, "guide.txt", "We are a shop. We sell towels."),
        put(tmp_path, "page.html", "<h1>Prices</h1><p>Ten euros.</p>"),
        put(tmp_path, "lines.jsonl", '{"question": "B?", "answer": "2"}\n'),
        put(tmp_path, "table.csv", "question;answer\r\nA?;1\r\n"),
    ]
    added = site.json("knowledge", "add", bot, *files)
    assert [(file["source"], file["entries"]) for file in added["files"]] == list(
        zip([file.name for file in files], [2, 1, 1, 1, 1], strict=True)
    )
    questions = [entry["question"] for entry in known(site, bot)]
    assert questions == ["When are you open?", "Do you ship?", "We are a shop.", "Prices", "B?", "A?"]
    put(tmp_path, "table.csv", "question,answer\r\nC?,1\r\n")
    assert site.json("knowledge", "add", bot, files[4])["files"] == [{"source": "table.csv", "entries": 1, "replaced": 1}]


def test_every_fault_of_every_file_is_told_at_once_and_nothing_is_kept(site: Site, bot: str, tmp_path: Path) -> None:
    files = [
        put(tmp_path, "good.md", FAQ),
        put(tmp_path, "other.csv", b"question,answer\n\x81?,1\n"),
        put(tmp_path, "broken.jsonl", "{\n[]\n"),
        put(tmp_path, "page.html", "<p>a <a href"),
        put(tmp_path, "word.docx", b"PK\x03\x04\xff"),
    ]
    done = site.run("knowledge", "add", bot, *files)
    assert (done.status, done.out) == (1, "")
    assert "broken.jsonl, line 1: this is no JSON" in done.err
    assert "broken.jsonl, line 2: every line is one JSON object" in done.err
    assert "page.html, paragraph 1: this tag (<a href...) is never closed" in done.err
    assert "other.csv, line 2: the file is not UTF-8 but an older encoding such as Windows-1252; save it as UTF-8" in done.err
    assert "word.docx, paragraph 1: this is no Word file" in done.err
    assert "Traceback" not in done.err
    assert known(site, bot) == []


def test_too_much_at_once_is_refused(site: Site, bot: str, tmp_path: Path) -> None:
    big = tmp_path / "big.txt"
    for size, says in (
        (65, "more than 64 MB together"),
        (50, "big.txt, line 1: the file has more than 32 MB, which are read at most: split it"),
    ):
        with big.open("wb") as file:
            file.truncate(size * 1024 * 1024)
        assert says in site.refused("knowledge", "add", bot, big)


@pytest.mark.parametrize("form", ["jsonl", "csv", "markdown"])
def test_what_is_exported_can_be_added_again(site: Site, bot: str, tmp_path: Path, form: str) -> None:
    site.json("knowledge", "add", bot, put(tmp_path, "faq.md", FAQ), put(tmp_path, "b.csv", 'question,answer\n"A ""?",1\n'))
    before = known(site, bot)
    output = tmp_path / {"jsonl": "all.jsonl", "csv": "all.csv", "markdown": "all.md"}[form]
    done = site.run("knowledge", "export", bot, "--output", output)
    assert (done.status, done.out, done.err) == (0, "", f"3 entries written to {output}\n")
    assert site.run("knowledge", "export", bot, "--format", form).out == output.read_bytes().decode()
    other = site.bot(site.account("Other"))
    site.json("knowledge", "add", other, output)
    sources = {"source": output.name} if form == "markdown" else {}
    assert known(site, other) == [{**entry, **sources} for entry in before]


def test_the_export_as_json_is_the_entries(site: Site, bot: str, tmp_path: Path) -> None:
    assert site.json("knowledge", "export", bot) == []
    site.json("knowledge", "add", bot, put(tmp_path, "faq.md", FAQ))
    assert site.json("knowledge", "export", bot) == site.json("knowledge", "list", bot)
    usage_error(site.run("knowledge", "export", bot, "--json", "--format", "csv"), "--json prints the entries")
    usage_error(site.run("knowledge", "export", bot, "--format", "pdf"), "'pdf' is not one of")
    usage_error(site.run("knowledge", "export", bot, "--output", tmp_path / "faq.xyz"), "say with --format")
    assert not (tmp_path / "faq.xyz").exists()


WEAK = Path(__file__).with_name("weak_knowledge.md").read_text("utf-8")


def test_lint_tells_what_is_weak_worst_first(site: Site, bot: str, tmp_path: Path) -> None:
    settings = ["phone_missing", "address_missing", "opening_hours_missing"]
    assert [finding["kind"] for finding in site.json("knowledge", "lint", bot)] == settings
    reached = ("--phone", "0212 000 11 22", "--address", "128 Harbour Road", "--opening-hours", "mon-fri 9-18")
    site.json("bot", "set", bot, *reached)
    site.json("knowledge", "add", bot, put(tmp_path, "weak.md", WEAK))
    first, second, third = (entry["id"] for entry in site.json("knowledge", "list", bot))
    findings = site.json("knowledge", "lint", bot)
    expected = [("duplicate_phrasing", second, first), ("foreign_language", third, None)]
    assert [(finding["kind"], finding["entry"], finding.get("other")) for finding in findings] == expected
    assert findings[0]["text"] == "“Opening hours” is asked by “Opening hours” and by “When are you open?”"
    done = site.run("knowledge", "lint", bot, "--all")
    assert (done.status, done.err) == (0, "3 entries, 2 findings\n")
    assert done.out.startswith(f"duplicate_phrasing     {findings[0]['text']}  [{second}, {first}]\n")


def test_a_dry_run_stores_nothing_and_lists_the_past_questions_whose_answers_change(fresh: Site, tmp_path: Path) -> None:
    account = fresh.account()
    bot, key = fresh.bot(account, language="en", ask_back=False), fresh.key(account)
    fresh.json("knowledge", "add", bot, put(tmp_path, "inn.md", "## Parking\n\nBehind the house.\n\n## Breakfast?\n\nFrom 8 to 10.\n"))
    put(tmp_path, "inn.md", "## Parking?\n\nBehind the house.\n\n## Do you take dogs?\n\nOne per room.\n")
    with fresh.serve() as serving:
        for message in ("parking", "breakfast?", "do you take dogs"):
            serving.ask(key, "POST", "/messages", {"chatbot_id": bot, "message": message, "user_id": "v"})
        before = fresh.json("knowledge", "list", bot)
        changes = fresh.json("knowledge", "add", bot, tmp_path / "inn.md", "--dry-run")
        assert fresh.json("knowledge", "list", bot) == before
        assert serving.end() == 0
    assert [(change["kind"], change["question"], change["origin"], change["before"], change["after"]) for change in changes] == [
        ("lost", "breakfast?", "asked", "Breakfast?", None),
        ("gained", "do you take dogs", "unanswered", None, "Do you take dogs?"),
    ]
    done = fresh.run("knowledge", "add", bot, tmp_path / "inn.md", "--dry-run")
    assert (done.status, done.err) == (0, "3 past questions: 1 lost, 0 changed, 1 gained; nothing was stored\n")


def test_what_was_asked_in_vain_is_shown_in_groups_ready_to_become_entries(fresh: Site, tmp_path: Path) -> None:
    account = fresh.account()
    bot, key = fresh.bot(account, language="en"), fresh.key(account)
    assert fresh.json("knowledge", "unanswered", bot) == []
    with fresh.serve() as serving:
        fresh.json("knowledge", "add", bot, put(tmp_path, "faq.md", FAQ))
        asked = ["Do you repair umbrellas?", "do you repair an umbrella", "do you repair umbrellas", "Is parrot food vegan?"]
        for message in asked:
            answer = serving.ask(key, "POST", "/messages", {"chatbot_id": bot, "message": message, "language": "en"})
            assert (answer.status, answer.json.get("reason")) == (502, "no_answer"), answer
        beside = fresh.json("knowledge", "unanswered", bot)
        assert serving.end() == 0
    assert "umbrella" not in fresh.log.read_text()
    groups = fresh.json("knowledge", "unanswered", bot)
    assert groups == beside
    assert [(group["question"], group["count"], group["language"]) for group in groups] == [
        ("Do you repair umbrellas?", 3, "en"),
        ("Is parrot food vegan?", 1, "en"),
    ]
    assert groups[0]["asked"] == ["Do you repair umbrellas?", "do you repair an umbrella"]
    assert all(set(group) == {"question", "count", "asked", "language", "last_asked_at", "nearest"} for group in groups)
    assert all(group["nearest"] is None or set(group["nearest"]) == {"id", "question", "score"} for group in groups)
    assert fresh.json("knowledge", "unanswered", bot, "--limit", "1") == groups[:1]
    assert fresh.run("knowledge", "unanswered", bot).out.startswith("     3  Do you repair umbrellas?  (en, ")
    markdown = fresh.run("knowledge", "unanswered", bot, "--markdown").out
    assert markdown.startswith("## Do you repair umbrellas?\nalt: do you repair an umbrella\nlanguage: en\n\n\n## Is parrot")
    refusal = fresh.run("knowledge", "add", bot, put(tmp_path, "new.md", markdown)).err
    assert "new.md, line 1: this question has no answer" in refusal
    fresh.json("knowledge", "add", bot, put(tmp_path, "new.md", markdown.replace("language: en\n\n", "language: en\n\nYes.\n")))
    assert [entry["answer"] for entry in known(fresh, bot)[2:]] == ["Yes.", "Yes."]
    assert fresh.json("knowledge", "unanswered", bot, "--clear") == {"bot": bot, "cleared": 3}
    assert fresh.json("knowledge", "unanswered", bot) == []
    usage_error(fresh.run("knowledge", "unanswered", bot, "--markdown", "--json"), "--markdown goes neither")


def test_changes_are_listed_shown_and_taken_back(site: Site, bot: str, tmp_path: Path) -> None:
    file = put(tmp_path, "faq.md", FAQ)
    site.json("knowledge", "add", bot, file)
    before = site.json("knowledge", "list", bot)
    site.json("knowledge", "remove", bot, before[0]["id"])
    removed, added = site.json("knowledge", "history", bot)
    assert (removed["kind"], removed["title"], removed["before"], removed["after"]) == ("remove", "When are you open?", 1, 0)
    assert (added["kind"], added["title"], added["via"], added["undone"]) == ("add", "faq.md", "cli", False)
    assert site.json("knowledge", "history", bot, removed["id"])["entries_before"] == before[:1]
    assert "When are you open?" in site.run("knowledge", "history", bot).out
    undone = site.json("knowledge", "undo", bot, removed["id"])
    assert (undone["kind"], undone["undoes"]) == ("undo", removed["id"])
    assert site.json("knowledge", "list", bot) == before
    again = site.run("knowledge", "undo", bot, removed["id"])
    assert (again.status, "was taken back already" in again.err) == (1, True)
    assert site.run("knowledge", "history", bot, "nope").status == 1
    assert site.run("knowledge", "undo", bot, undone["id"]).status == 0
