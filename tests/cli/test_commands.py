"""Every command, with a service and without: what it prints, what it refuses, and in how many words."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.cli.support import Site, environment, one_line, run, usage_error

ACCOUNT = {
    "id", "name", "plan", "subscription_status", "messages_used", "messages_limit", "message_credits", "created_at", "updated_at",
}  # fmt: skip
BOT = {
    "id", "name", "description", "model", "active", "messages_used", "created_at", "updated_at", "account_id", "instructions", "timezone",
    "country", "language", "opening_hours", "ask_back", "greeting", "fallback", "hand_off", "hand_off_wait", "hand_off_return",
    "phone", "email", "address", "appointment_minutes", "appointments_at_once",
}  # fmt: skip
KEY = {"id", "account_id", "name", "prefix", "status", "created_at", "expires_at", "revoked_at", "last_used_at"}
ENTRY = {"id", "question", "alt", "answer", "language", "source"}
CONVERSATION = {
    "id", "chatbot_id", "channel", "user_id", "session_id", "visitor_name", "visitor_email", "last_message_at", "created_at", "updated_at",
}  # fmt: skip
# The rules are the same with a service, and each refusal starts a command.
WITHOUT_A_SERVICE = pytest.mark.parametrize("site", ["alone"], indirect=True)
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TO_THE_SECOND = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
FAQ = """language: en

## When are you open?
alt: opening hours
alt: what time do you open

Monday to Friday from 9 to 6.

## Do you repair bicycles?
alt: can you fix my bike

Yes, all makes, within two days.
"""


@pytest.fixture
def faq(tmp_path: Path) -> Path:
    """A file of knowledge."""
    file = tmp_path / "faq.en.md"
    file.write_text(FAQ)
    return file


def test_an_account_is_created_listed_shown_changed_and_deleted(site: Site) -> None:
    made = site.json("account", "create", "Acme Ltd", "--plan", "business")
    assert set(made) == ACCOUNT
    assert UUID.fullmatch(made["id"])
    assert TO_THE_SECOND.fullmatch(made["created_at"])
    assert {name: made[name] for name in ACCOUNT - {"id", "created_at", "updated_at"}} == {
        "name": "Acme Ltd",
        "plan": "business",
        "subscription_status": "active",
        "messages_used": 0,
        "messages_limit": 10_000,
        "message_credits": 0,
    }
    assert site.json("account", "show", made["id"]) == made
    assert made in site.json("account", "list")
    changed = site.json("account", "set", made["id"], "--status", "past_due", "--messages-limit", "7", "--credits", "3")
    assert [changed[name] for name in ("subscription_status", "messages_limit", "message_credits", "plan")] == [
        "past_due",
        7,
        3,
        "business",
    ]
    assert site.json("account", "show", made["id"]) == changed
    without = site.json("account", "set", made["id"], "--plan", "none")
    assert (without["plan"], without["messages_limit"], without["message_credits"]) == (None, 0, 3)
    assert site.json("account", "delete", made["id"], "--yes") == {"id": made["id"], "deleted": True}
    assert site.refused("account", "show", made["id"]) == f"there is no account {made['id']}"
    assert made["id"] not in [account["id"] for account in site.json("account", "list")]


def test_an_account_is_on_the_enterprise_plan_unless_it_is_said_otherwise(site: Site) -> None:
    assert site.json("account", "create", "Default")["plan"] == "enterprise"
    none = site.json("account", "create", "Nothing", "--plan", "none")
    assert (none["plan"], none["messages_limit"]) == (None, 0)


def test_a_new_plan_brings_its_allowance_unless_a_limit_is_given_too(site: Site) -> None:
    account = site.account("Acme", plan="free")
    assert site.json("account", "set", account, "--plan", "starter")["messages_limit"] == 1000
    assert site.json("account", "set", account, "--plan", "business", "--messages-limit", "5")["messages_limit"] == 5
    gone = site.json("account", "set", account, "--plan", "none")
    assert gone["plan"] is None


@WITHOUT_A_SERVICE
def test_what_cannot_be_an_account_is_refused_in_one_line(site: Site) -> None:
    account = site.account()
    assert "there is no plan 'gold'; the configuration has free, starter, business, enterprise" in site.refused(
        "account", "create", "x", "--plan", "gold"
    )
    assert "must not be empty" in site.refused("account", "create", "  ")
    assert "at most" in site.refused("account", "create", "x" * 201)
    assert "control characters" in site.refused("account", "create", "two\nlines")
    assert "not valid UTF-8" in site.refused("account", "create", b"\xff\xfe")
    assert "not valid UTF-8" in site.refused("account", "show", b"\xff\xfe")
    assert "none of active, trialing" in site.refused("account", "set", account, "--status", "happy")
    assert "nothing to change" in site.refused("account", "set", account)
    assert "must not be empty" in site.refused("account", "set", account, "--name", " ")
    assert site.json("account", "set", account, "--name", "Acme Group")["name"] == "Acme Group"
    for option in ("--messages-limit", "--credits"):
        assert "must be from 0 to" in site.refused("account", "set", account, option, "-1")
        assert "must be from 0 to" in site.refused("account", "set", account, option, str(2**53))
        usage_error(site.run("account", "set", account, option, "many"), "is not a valid integer")
    for command in (("show",), ("set", "--credits", "1"), ("delete", "--yes")):
        assert site.refused("account", *command, "no-such-id") == "there is no account no-such-id"


def test_deleting_an_account_has_to_be_confirmed(site: Site) -> None:
    account = site.account()
    usage_error(site.run("account", "delete", account), "add --yes")
    assert site.json("account", "show", account)["id"] == account


def test_a_bot_is_created_listed_shown_changed_switched_off_and_on_and_deleted(site: Site) -> None:
    account = site.account()
    made = site.json("bot", "create", "Front desk", "--account", account)
    assert set(made) == BOT | {"closed", "form_of_address", "texts", "forms", "suggestions", "tests"}
    assert {name: made[name] for name in BOT - {"id", "created_at", "updated_at"}} == {
        "name": "Front desk",
        "description": None,
        "model": "offline",
        "active": True,
        "messages_used": 0,
        "account_id": account,
        "instructions": None,
        "timezone": "Europe/Istanbul",
        "country": "TR",
        "language": "tr",
        "opening_hours": None,
        "ask_back": None,
        "greeting": None,
        "fallback": None,
        "hand_off": False,
        "hand_off_wait": 10,
        "hand_off_return": 30,
        "phone": None,
        "email": None,
        "address": None,
        "appointment_minutes": 30,
        "appointments_at_once": 1,
    }
    settings = {
        "name": "Reception",
        "model": "offline",
        "description": "what it is for",
        "instructions": "Be brief.\nBe kind.",
        "timezone": "Europe/London",
        "country": "GB",
        "language": "en-GB",
        "opening-hours": "mon-fri 09:00-18:00; sat 10:00-14:00",
        "greeting": "Hello! Ğüş",
        "fallback": "knowledge",
        "phone": "020 7946 0018",
        "email": "hello@example.com",
        "address": "1 High Street, York",
    }
    options = [part for name, value in settings.items() for part in (f"--{name}", value)]
    hand_off = ("--hand-off", "on", "--hand-off-wait", "5", "--hand-off-return", "60")
    changed = site.json("bot", "set", made["id"], *options, "--ask-back", "on", *hand_off)
    assert (changed["hand_off"], changed["hand_off_wait"], changed["hand_off_return"]) == (True, 5, 60)
    assert {name: changed[name.replace("-", "_")] for name in settings} == settings
    assert changed["ask_back"] is True
    assert site.json("bot", "show", made["id"]) == changed
    listed = {name: changed[name] for name in BOT}
    assert site.json("bot", "list", "--account", account) == [listed]
    assert listed in site.json("bot", "list")
    taken = site.json("bot", "set", made["id"], "--greeting", "", "--opening-hours", "", "--ask-back", "off", "--fallback", "none")
    assert (taken["greeting"], taken["opening_hours"], taken["ask_back"], taken["fallback"]) == (None, None, False, None)
    asked = ("Where are you?", "How much is a haircut?")
    assert site.json("bot", "set", made["id"], "--suggestion", asked[0], "--suggestion", asked[1])["suggestions"] == list(asked)
    assert site.json("bot", "set", made["id"], "--greeting", "Hi")["suggestions"] == list(asked)
    assert site.json("bot", "set", made["id"], "--suggestion", "")["suggestions"] == []
    assert site.json("bot", "deactivate", made["id"])["active"] is False
    assert site.json("bot", "show", made["id"])["active"] is False
    assert site.json("bot", "activate", made["id"])["active"] is True
    usage_error(site.run("bot", "delete", made["id"]), "add --yes")
    assert site.json("bot", "delete", made["id"], "--yes") == {"id": made["id"], "deleted": True}
    assert site.refused("bot", "show", made["id"]) == f"there is no bot {made['id']}"
    assert site.json("bot", "list", "--account", account) == []


@WITHOUT_A_SERVICE
def test_what_cannot_be_a_bot_is_refused_in_one_line(site: Site) -> None:
    account = site.account()
    bot = site.bot(account)
    for option, value, says in (
        ("--model", "gpt", "there is no model tier 'gpt'; the configuration has offline"),
        ("--timezone", "Mars/Olympus", "'Mars/Olympus' is no time zone"),
        ("--timezone", "../../etc/passwd", "is no time zone"),
        ("--timezone", "", "is no time zone"),
        ("--timezone", "Europe", "is no time zone"),
        ("--timezone", "x" * 5000, "is no time zone"),
        ("--country", "Turkey", "is no country"),
        ("--language", "Turkish language", "is no language tag"),
        ("--opening-hours", "always", "the opening hours cannot be read: 'always' is no day; write days and hours, such as"),
        ("--opening-hours", "mon 18:00-09:00", "closes before it opens"),
        ("--greeting", "x" * 1001, "greeting may have 1000 characters at most, this one has 1001"),
        ("--name", " ", "the bot's name must not be empty"),
    ):
        assert says in site.refused("bot", "set", bot, option, value)
    assert "nothing to change" in site.refused("bot", "set", bot)
    usage_error(site.run("bot", "set", bot, "--ask-back", "maybe"), "is not one of 'on', 'off'")
    for command in (("show",), ("activate",), ("deactivate",), ("set", "--name", "x")):
        assert site.refused("bot", *command, "no-such-id") == "there is no bot no-such-id"
    assert site.refused("bot", "create", "x", "--account", "no-such-id") == "there is no account no-such-id"


def test_past_the_plans_number_of_bots_there_are_no_more(site: Site) -> None:
    account = site.account("Small", plan="free")
    site.bot(account)
    assert site.refused("bot", "create", "second", "--account", account) == (
        "no more bots: the plan free has 1 bot, and the account has as many"
    )
    without = site.account("None", plan="none")
    assert site.refused("bot", "create", "first", "--account", without) == "no more bots: the account has no plan"
    assert len(site.json("bot", "list", "--account", account)) == 1


def test_a_key_is_created_listed_and_revoked(site: Site) -> None:
    account = site.account()
    made = site.json("key", "create", "--account", account, "--name", "web server", "--expires", "2099-12-31T18:00")
    assert set(made) == KEY | {"key"}
    assert re.fullmatch(r"csk_[0-9A-Za-z]{38}", made["key"])
    assert (made["name"], made["status"], made["expires_at"]) == ("web server", "active", "2099-12-31T18:00:00Z")
    assert made["prefix"] == made["key"][:10]
    shown = {name: made[name] for name in KEY}
    assert site.json("key", "list", "--account", account) == [shown]
    assert shown in site.json("key", "list")
    revoked = site.json("key", "revoke", made["id"])
    assert revoked["status"] == "revoked"
    assert TO_THE_SECOND.fullmatch(revoked["revoked_at"])
    assert site.json("key", "revoke", made["id"]) == revoked
    assert site.json("key", "list", "--account", account) == [revoked]


@WITHOUT_A_SERVICE
def test_what_cannot_be_a_key_is_refused_in_one_line(site: Site) -> None:
    account = site.account()
    for when, says in (
        ("2020-01-01", "has passed already"),
        ("tomorrow", "'tomorrow' is no time; write 2026-11-20"),
        ("9999-12-31T23:59:59-01:00", "is no time"),
        ("", "is no time"),
    ):
        assert says in site.refused("key", "create", "--account", account, "--expires", when)
    assert site.refused("key", "revoke", "no-such-key") == "there is no key no-such-key"
    assert site.refused("key", "list", "--account", "no-such-id") == "there is no account no-such-id"
    assert site.json("key", "list", "--account", account) == []


def test_knowledge_is_added_listed_searched_replaced_and_removed(site: Site, faq: Path) -> None:
    bot = site.bot(site.account())
    added = site.json("knowledge", "add", bot, faq)
    assert added == {"bot": bot, "entries": 2, "files": [{"source": "faq.en.md", "entries": 2, "replaced": 0}]}
    entries = site.json("knowledge", "list", bot)
    assert [set(entry) for entry in entries] == [ENTRY, ENTRY]
    assert {**entries[0], "id": ""} == {
        "id": "",
        "question": "When are you open?",
        "alt": ["opening hours", "what time do you open"],
        "answer": "Monday to Friday from 9 to 6.",
        "language": "en",
        "source": "faq.en.md",
    }
    found = site.json("knowledge", "search", bot, "when are you open?")
    assert set(found) == {"question", "language", "decision", "confidence", "entries"}
    assert found["question"] == "when are you open?"
    assert found["decision"] in {"answer", "ask", "abstain"}
    assert 0 <= found["confidence"] <= 1
    assert found["entries"][0]["id"] == entries[0]["id"]
    assert set(found["entries"][0]) == {"id", "question", "score", "tells", "why"}
    assert len(found["entries"]) <= 5
    assert [hit["score"] for hit in found["entries"]] == sorted((hit["score"] for hit in found["entries"]), reverse=True)
    questions = faq.with_name("questions.txt")
    questions.write_text("when are you open?\n\n  can you fix my bike  \n")
    several = site.json("knowledge", "search", bot, "--file", questions)
    assert [one["question"] for one in several] == ["when are you open?", "can you fix my bike"]
    assert several[0] == found
    assert site.json("knowledge", "remove", bot, entries[0]["id"]) == entries[0]
    assert site.json("knowledge", "list", bot) == entries[1:]
    again = site.json("knowledge", "add", bot, faq)
    assert again["files"] == [{"source": "faq.en.md", "entries": 2, "replaced": 1}]


@WITHOUT_A_SERVICE
def test_what_cannot_be_knowledge_is_refused_and_nothing_of_it_is_added(site: Site, faq: Path) -> None:
    account = site.account()
    bot = site.bot(account)
    broken = faq.with_name("broken.md")
    broken.write_text("## A question without an answer\n")
    done = site.run("knowledge", "add", bot, faq, broken)
    assert (done.status, done.out) == (1, "")
    assert "broken.md" in done.err
    assert "Traceback" not in done.err
    assert site.json("knowledge", "list", bot) == []
    binary = faq.with_name("binary.md")
    binary.write_bytes(b"## Question\n\n\xff\x00\xfe")
    assert "binary.md, line 3: the file is not UTF-8" in site.refused("knowledge", "add", bot, binary)
    twin = faq.parent / "other" / faq.name
    twin.parent.mkdir()
    twin.write_text(FAQ)
    assert "two files have the same name" in site.refused("knowledge", "add", bot, faq, twin)
    usage_error(site.run("knowledge", "add", bot, faq.with_name("missing.md")), "does not exist")
    usage_error(site.run("knowledge", "add", bot, faq.parent), "is a directory")
    usage_error(site.run("knowledge", "add", bot), "Missing argument")
    usage_error(site.run("knowledge", "search", bot), "give a TEXT or --file")
    usage_error(site.run("knowledge", "search", bot, "text", "--file", faq), "give a TEXT or --file")
    assert site.refused("knowledge", "remove", bot, "no-such-entry") == "the bot has no entry no-such-entry"
    for command in (("list",), ("remove", "x"), ("search", "x"), ("add", faq)):
        assert site.refused("knowledge", command[0], "no-such-bot", *command[1:]) == "there is no bot no-such-bot"


def test_one_bots_entry_cannot_be_removed_through_another(site: Site, faq: Path) -> None:
    account = site.account()
    mine, other = site.bot(account), site.bot(account)
    site.json("knowledge", "add", mine, faq)
    entry = site.json("knowledge", "list", mine)[0]["id"]
    assert site.refused("knowledge", "remove", other, entry) == f"the bot has no entry {entry}"
    assert len(site.json("knowledge", "list", mine)) == 2


def test_quality_has_each_day_with_its_counts(site: Site) -> None:
    account = site.account()
    bot = site.bot(account)
    told = site.json("usage", account, "--quality", "--bot", bot, "--days", "3")
    names = ("answered", "unanswered", "handed_over", "requests", "appointments", "up", "down")
    assert [{name: day[name] for name in day if name != "date"} for day in told["by_day"]] == [dict.fromkeys(names, 0)] * 3
    assert told["first_response_s"] == {"median": None, "p90": None}
    assert "first_response_s" in site.run("usage", account, "--quality").out
    usage_error(site.run("usage", account, "--bot", bot), "--bot needs --quality")


def test_usage_is_what_analytics_tells(site: Site) -> None:
    account = site.account("Acme", plan="business")
    bot = site.bot(account)
    told = site.json("usage", account, "--days", "7")
    assert set(told) == {"account", "chatbots", "usage"}
    assert told["account"] == {
        "plan": "business",
        "plan_version": 1,
        "subscription_status": "active",
        "messages_used": 0,
        "messages_limit": 10_000,
        "plan_message_limit": 10_000,
        "plan_bot_limit": 10,
        "message_credits": 0,
    }
    assert told["chatbots"] == [{"id": bot, "name": "Desk", "active": True, "messages_used_total": 0, "messages_in_window": 0}]
    window = told["usage"]
    today = datetime.now(UTC).date()
    assert window["window_days"] == 7
    assert window["from"] in {f"{today - timedelta(days=days)}T00:00:00.000Z" for days in (6, 7)}
    assert (window["total_messages"], window["total_tokens"], window["total_cost_usd"]) == (0, 0, 0)
    assert (window["truncated"], window["row_cap"], window["covers_from"]) == (False, 5000, window["from"])
    assert len(window["by_day"]) == 7
    assert site.refused("usage", "no-such-id") == "there is no account no-such-id"
    for days in ("0", "91", "x"):
        usage_error(site.run("usage", account, "--days", days), "--days")


def test_there_are_no_conversations_before_anybody_said_anything(site: Site) -> None:
    bot = site.bot(site.account())
    assert site.json("conversation", "list", "--bot", bot) == []
    assert site.refused("conversation", "list", "--bot", "no-such-bot") == "there is no bot no-such-bot"
    assert site.refused("conversation", "show", "no-such-conversation") == "there is no conversation no-such-conversation"
    usage_error(site.run("conversation", "list", "--limit", "0"), "--limit")


def test_where_there_are_several_accounts_one_has_to_be_named(site: Site) -> None:
    for command in (("bot", "create", "x"), ("key", "create"), ("usage",)):
        assert re.fullmatch(r"there are \d+ accounts: say which one with --account ID .*", site.refused(*command))


def test_where_there_is_one_account_it_need_not_be_named(fresh: Site) -> None:
    for command in (("bot", "create", "x"), ("key", "create"), ("usage",)):
        assert "there is no account yet" in fresh.refused(*command)
    account = fresh.account()
    assert fresh.json("bot", "create", "x")["account_id"] == account
    assert fresh.json("key", "create")["account_id"] == account
    assert len(fresh.json("usage")["chatbots"]) == 1


def test_people_get_tables_and_fields_and_hints_on_standard_error(site: Site, tmp_path: Path) -> None:
    account = site.account("Ğüneş Ltd")
    created = site.run("key", "create", "--account", account)
    assert created.status == 0
    assert re.search(r"^key +csk_[0-9A-Za-z]{38}$", created.out, re.MULTILINE)
    assert "not shown again" in created.err
    listed = site.run("account", "list")
    assert listed.out.splitlines()[0].split() == [
        "id", "name", "plan", "subscription_status", "messages_used", "messages_limit", "message_credits",
    ]  # fmt: skip
    assert "Ğüneş Ltd" in listed.out
    bot = site.bot(account)
    faq = tmp_path / "faq.md"
    faq.write_text(FAQ)
    site.json("knowledge", "add", bot, faq)
    found = site.run("knowledge", "search", bot, "when are you open?")
    assert re.match(r"when are you open\?\n  (answer|ask|abstain) \(\d\.\d\d, en\)\n  \d\.\d\d  When are you open\?  \[", found.out)
    empty = site.run("conversation", "list", "--bot", site.bot(account))
    assert (empty.status, empty.out, empty.err) == (0, "", "none\n")


@pytest.mark.parametrize(
    "arguments",
    [
        (), ("nonsense",), ("account",), ("account", "nonsense"), ("account", "create"), ("account", "create", "a", "b"), ("bot", "set"),
        ("key", "revoke"), ("--nonsense",), ("serve", "now"), ("key", "create", "--expires"), ("demo", "twice"), ("-c",),
    ],
)  # fmt: skip
def test_wrong_usage_exits_with_2_and_says_why_on_standard_error(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.status == 2
    assert done.out == ""
    assert "Usage: chatsvc" in done.err or "requires an argument" in done.err
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    ["", "init", "serve", "demo", "usage", "account", "bot", "key", "knowledge", "conversation", "account set", "knowledge search"],
)
def test_help_is_printed_by_every_command_and_touches_nothing(command: str, tmp_path: Path) -> None:
    done = run(*command.split(), "--help", cwd=tmp_path)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"Usage: chatsvc {command}".rstrip())
    assert list(tmp_path.iterdir()) == []


def test_the_version_is_printed(tmp_path: Path) -> None:
    from chatsvc import __version__

    assert run("--version", cwd=tmp_path).out == f"chatsvc {__version__}\n"


def test_init_makes_everything_once_and_keeps_what_is_there(tmp_path: Path) -> None:
    where = tmp_path / "srv" / "chatsvc"
    done = run("init", where, "--json", cwd=tmp_path)
    assert done.status == 0
    made = json.loads(done.out)
    assert set(made) == {"config", "data_dir", "master_key", "account", "bot", "key", "operator"}
    assert (made["config"], made["data_dir"], made["master_key"]) == (
        str(where / "config.yaml"),
        str(where / "data"),
        str(where / "data" / "master.key"),
    )
    assert set(made["account"]) == ACCOUNT
    assert set(made["bot"]) == BOT
    assert set(made["key"]) == KEY | {"key"}
    assert made["account"]["plan"] == "enterprise"
    config = (where / "config.yaml").read_bytes()
    again = json.loads(run("init", where, "--json", cwd=tmp_path).out)
    assert again == {**made, "account": None, "bot": None, "key": None}
    (where / "config.yaml").write_text("data_dir: ./elsewhere\n")
    elsewhere = json.loads(run("init", where, "--json", cwd=tmp_path).out)
    assert elsewhere["data_dir"] == str(where / "elsewhere")
    assert elsewhere["key"] is not None
    assert (where / "config.yaml").read_bytes() == b"data_dir: ./elsewhere\n" != config


def test_init_works_in_the_current_folder_and_tells_people_how_to_go_on(tmp_path: Path) -> None:
    done = run("init", cwd=tmp_path)
    assert done.status == 0
    assert re.search(r"^API key +csk_[0-9A-Za-z]{38}$", done.out, re.MULTILINE)
    assert f"chatsvc -c {tmp_path / 'config.yaml'} serve" in done.err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["config.yaml", "data"]
    again = run("init", cwd=tmp_path)
    assert "csk_" not in again.out
    assert "no account was added" in again.out


def test_init_where_a_file_is_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    usage_error(run("init", tmp_path / "file"), "is a file")
    done = run("init", tmp_path / "file" / "below")
    assert done.status == 1
    assert "Not a directory" in done.err
    assert done.err.count("\n") == 1


BROKEN = """
import sys
from chatsvc.control import client
from chatsvc.cli.main import main
def broken(*_):
    raise ZeroDivisionError("a fault of ours")
client.call = broken
main(sys.argv[1:])
"""


def test_a_fault_of_ours_is_one_line_unless_it_is_asked_for_whole(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BROKEN, "account", "list"]
    short = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert (short.returncode, short.stdout) == (1, "")
    assert one_line(short.stderr) == "an unexpected error occurred (ZeroDivisionError); run again with CHATSVC_DEBUG=1 to see it whole"
    whole = subprocess.run(command, cwd=tmp_path, env=environment(CHATSVC_DEBUG="1"), capture_output=True, text=True, check=False)
    assert whole.returncode == 1
    assert "ZeroDivisionError: a fault of ours" in whole.stderr


def test_init_takes_the_configuration_that_is_named(tmp_path: Path) -> None:
    named = tmp_path / "other.yaml"
    named.write_text("data_dir: ./elsewhere\n")
    done = run("-c", str(named), "init", "--json", cwd=tmp_path)
    assert done.status == 0
    assert json.loads(done.out)["data_dir"] == str(tmp_path / "elsewhere")
    assert not (tmp_path / "config.yaml").exists()
    assert run("-c", str(named), "init", "here", cwd=tmp_path).status == 2


def test_a_country_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    assert run("account", "create", "Acme", cwd=tmp_path).status == 0
    done = run("bot", "create", "Desk", "--country", "XX", cwd=tmp_path)
    assert done.status == 1
    assert "is no country" in done.err
