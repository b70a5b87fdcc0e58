"""Every command, with a service and without: what it prints, what it refuses, and in how many words."""

import json
import re
import shlex
from pathlib import Path

import pytest

from chatsvc import __version__
from tests.cli.support import BOTH, Site, run, usage_error

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
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TO_THE_SECOND = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
FAQ = Path(__file__).with_name("faq.md").read_text("utf-8")


@pytest.fixture
def account(site: Site) -> str:
    return site.account()


@pytest.fixture
def bot(site: Site, account: str) -> str:
    return site.bot(account)


@pytest.fixture
def faq(tmp_path: Path) -> Path:
    file = tmp_path / "faq.en.md"
    file.write_text(FAQ)
    return file


@BOTH
def test_an_account_is_created_listed_shown_changed_and_deleted(site: Site) -> None:
    created = site.json("account", "create", "Acme Ltd", "--plan", "business")
    assert set(created) == ACCOUNT
    assert UUID.fullmatch(created["id"])
    assert TO_THE_SECOND.fullmatch(created["created_at"])
    assert {name: created[name] for name in ACCOUNT - {"id", "created_at", "updated_at"}} == {
        "name": "Acme Ltd",
        "plan": "business",
        "subscription_status": "active",
        "messages_used": 0,
        "messages_limit": 10_000,
        "message_credits": 0,
    }
    assert site.json("account", "show", created["id"]) == created
    assert created in site.json("account", "list")
    changed = site.json("account", "set", created["id"], "--status", "past_due", "--messages-limit", "7", "--credits", "3")
    names = ("subscription_status", "messages_limit", "message_credits", "plan")
    assert [changed[name] for name in names] == ["past_due", 7, 3, "business"]
    assert site.json("account", "show", created["id"]) == changed
    assert site.json("account", "set", created["id"], "--plan", "starter")["messages_limit"] == 1000
    assert site.json("account", "set", created["id"], "--plan", "free", "--messages-limit", "5")["messages_limit"] == 5
    without = site.json("account", "set", created["id"], "--plan", "none", "--name", "Acme Group")
    assert [without[name] for name in ("plan", "messages_limit", "message_credits", "name")] == [None, 0, 3, "Acme Group"]
    assert site.json("account", "delete", created["id"], "--yes") == {"id": created["id"], "deleted": True}
    assert site.refused("account", "show", created["id"]) == f"there is no account {created['id']}"
    assert created["id"] not in [account["id"] for account in site.json("account", "list")]
    assert site.json("account", "create", "Default")["plan"] == "enterprise"


@BOTH
def test_a_bot_is_created_listed_shown_changed_switched_off_and_on_and_deleted(site: Site) -> None:
    account = site.account()
    created = site.json("bot", "create", "Front desk", "--account", account)
    assert set(created) == BOT | {"closed", "form_of_address", "texts", "forms", "suggestions", "tests"}
    unset = ["description", "instructions", "opening_hours", "ask_back", "greeting", "fallback", "phone", "email", "address"]
    assert {name: created[name] for name in BOT - {"id", "created_at", "updated_at"}} == dict.fromkeys(unset) | {
        "name": "Front desk", "model": "offline", "active": True, "messages_used": 0, "account_id": account, "timezone": "Europe/Istanbul",
        "country": "TR", "language": "tr", "hand_off": False, "hand_off_wait": 10, "hand_off_return": 30, "appointment_minutes": 30,
        "appointments_at_once": 1,
    }  # fmt: skip
    settings = {
        "name": "Reception", "model": "offline", "description": "what it is for", "instructions": "Be brief.\nBe kind.",
        "timezone": "Europe/London", "country": "GB", "language": "en-GB", "opening-hours": "mon-fri 09:00-18:00; sat 10:00-14:00",
        "greeting": "Hello! Ğüş", "fallback": "knowledge", "phone": "020 7946 0018", "email": "hello@example.com",
        "address": "1 High Street, York",
    }  # fmt: skip
    options = [part for name, value in settings.items() for part in (f"--{name}", value)]
    hand_off = ("--hand-off", "on", "--hand-off-wait", "5", "--hand-off-return", "60")
    changed = site.json("bot", "set", created["id"], *options, "--ask-back", "on", *hand_off)
    assert (changed["hand_off"], changed["hand_off_wait"], changed["hand_off_return"]) == (True, 5, 60)
    assert {name: changed[name.replace("-", "_")] for name in settings} == settings
    assert changed["ask_back"] is True
    assert site.json("bot", "show", created["id"]) == changed
    listed = {name: changed[name] for name in BOT}
    assert site.json("bot", "list", "--account", account) == [listed]
    assert listed in site.json("bot", "list")
    taken = site.json("bot", "set", created["id"], "--greeting", "", "--opening-hours", "", "--ask-back", "off", "--fallback", "none")
    assert (taken["greeting"], taken["opening_hours"], taken["ask_back"], taken["fallback"]) == (None, None, False, None)
    asked = ("Where are you?", "How much is a haircut?")
    assert site.json("bot", "set", created["id"], "--suggestion", asked[0], "--suggestion", asked[1])["suggestions"] == list(asked)
    assert site.json("bot", "set", created["id"], "--greeting", "Hi")["suggestions"] == list(asked)
    assert site.json("bot", "set", created["id"], "--suggestion", "")["suggestions"] == []
    assert site.json("bot", "deactivate", created["id"])["active"] is False
    assert site.json("bot", "show", created["id"])["active"] is False
    assert site.json("bot", "activate", created["id"])["active"] is True
    assert site.json("bot", "delete", created["id"], "--yes") == {"id": created["id"], "deleted": True}
    assert site.refused("bot", "show", created["id"]) == f"there is no bot {created['id']}"
    assert site.json("bot", "list", "--account", account) == []


REFUSED = (Path(__file__).parent / "refused.tsv").read_text("utf-8").splitlines()


@pytest.mark.parametrize(("words", "says"), [line.split("\t") for line in REFUSED if "\t" in line])
def test_what_cannot_be_is_refused_in_one_line(site: Site, account: str, bot: str, words: str, says: str) -> None:
    arguments = (word.encode() for word in shlex.split(words.format(account=account, bot=bot)))
    assert says in site.refused(*(word.replace(b"\\xff", b"\xff").replace(b"\\n", b"\n") for word in arguments))


def test_past_the_plans_number_of_bots_there_are_no_more(site: Site) -> None:
    account = site.account("Small", plan="free")
    site.bot(account)
    assert site.refused("bot", "create", "second", "--account", account) == (
        "no more bots: the plan free has 1 bot, and the account has as many"
    )
    without = site.account("None", plan="none")
    assert site.refused("bot", "create", "first", "--account", without) == "no more bots: the account has no plan"
    assert len(site.json("bot", "list", "--account", account)) == 1


@BOTH
def test_a_key_is_created_listed_and_revoked(site: Site) -> None:
    account = site.account()
    created = site.json("key", "create", "--account", account, "--name", "web server", "--expires", "2099-12-31T18:00")
    assert set(created) == KEY | {"key"}
    assert re.fullmatch(r"csk_[0-9A-Za-z]{38}", created["key"])
    assert (created["name"], created["status"], created["expires_at"]) == ("web server", "active", "2099-12-31T18:00:00Z")
    assert created["prefix"] == created["key"][:10]
    shown = {name: created[name] for name in KEY}
    assert site.json("key", "list", "--account", account) == [shown]
    assert shown in site.json("key", "list")
    revoked = site.json("key", "revoke", created["id"])
    assert revoked["status"] == "revoked"
    assert TO_THE_SECOND.fullmatch(revoked["revoked_at"])
    assert site.json("key", "revoke", created["id"]) == revoked
    assert site.json("key", "list", "--account", account) == [revoked]


@BOTH
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
    matches = site.json("knowledge", "search", bot, "when are you open?")
    assert set(matches) == {"question", "language", "decision", "confidence", "entries"}
    assert matches["question"] == "when are you open?"
    assert matches["decision"] in {"answer", "ask", "abstain"}
    assert 0 <= matches["confidence"] <= 1
    assert matches["entries"][0]["id"] == entries[0]["id"]
    assert set(matches["entries"][0]) == {"id", "question", "score", "tells", "why"}
    assert len(matches["entries"]) <= 5
    assert [hit["score"] for hit in matches["entries"]] == sorted((hit["score"] for hit in matches["entries"]), reverse=True)
    questions = faq.with_name("questions.txt")
    questions.write_text("when are you open?\n\n  can you fix my bike  \n")
    several = site.json("knowledge", "search", bot, "--file", questions)
    assert [match["question"] for match in several] == ["when are you open?", "can you fix my bike"]
    assert several[0] == matches
    assert site.json("knowledge", "remove", bot, entries[0]["id"]) == entries[0]
    assert site.json("knowledge", "list", bot) == entries[1:]
    again = site.json("knowledge", "add", bot, faq)
    assert again["files"] == [{"source": "faq.en.md", "entries": 2, "replaced": 1}]


def test_what_cannot_be_knowledge_is_refused_and_nothing_of_it_is_added(site: Site, bot: str, faq: Path) -> None:
    broken, binary, twin = faq.with_name("broken.md"), faq.with_name("binary.md"), faq.parent / "other" / faq.name
    broken.write_text("## A question without an answer\n")
    binary.write_bytes(b"## Question\n\n\xff\x00\xfe")
    twin.parent.mkdir()
    twin.write_text(FAQ)
    assert "broken.md" in site.refused("knowledge", "add", bot, faq, broken)
    assert "binary.md, line 3: the file is not UTF-8" in site.refused("knowledge", "add", bot, binary)
    assert "two files have the same name" in site.refused("knowledge", "add", bot, faq, twin)
    assert site.json("knowledge", "list", bot) == []
    usage_error(site.run("knowledge", "add", bot, faq.with_name("missing.md")), "does not exist")
    usage_error(site.run("knowledge", "search", bot), "give a TEXT or --file")


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
    usage = site.json("usage", account, "--quality", "--bot", bot, "--days", "3")
    names = ("answered", "unanswered", "handed_over", "requests", "appointments", "up", "down")
    assert [{name: day[name] for name in day if name != "date"} for day in usage["by_day"]] == [dict.fromkeys(names, 0)] * 3
    assert usage["first_response_s"] == {"median": None, "p90": None}
    assert "first_response_s" in site.run("usage", account, "--quality").out


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
    matches = site.run("knowledge", "search", bot, "when are you open?")
    assert re.match(r"when are you open\?\n  (answer|ask|abstain) \(\d\.\d\d, en\)\n  \d\.\d\d  When are you open\?  \[", matches.out)
    empty = site.run("conversation", "list", "--bot", site.bot(account))
    assert (empty.status, empty.out, empty.err) == (0, "", "none\n")


@pytest.mark.parametrize(
    "words",
    [
        "", "nonsense", "account", "account nonsense", "account create", "account create a b", "bot set", "key revoke", "--nonsense",
        "serve now", "key create --expires", "demo twice", "-c", "account set x --credits many", "bot set x --ask-back maybe",
        "account delete x", "bot delete x", "usage x --days 91", "usage x --bot y", "conversation list --limit 0",
        "bot set x --hand-off-wait 0",
        "-c other.yaml init here",
    ],
)  # fmt: skip
def test_wrong_usage_exits_with_2_and_says_why_on_standard_error(words: str, tmp_path: Path) -> None:
    done = run(*words.split(), cwd=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert "Usage: chatsvc" in done.err or "requires an argument" in done.err
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["", "serve", "account", "knowledge search"])
def test_help_is_printed_by_every_command_and_touches_nothing(command: str, tmp_path: Path) -> None:
    done = run(*command.split(), "--help", cwd=tmp_path)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"Usage: chatsvc {command}".rstrip())
    assert list(tmp_path.iterdir()) == []
    assert run("--version", cwd=tmp_path).out == f"chatsvc {__version__}\n"


def test_init_makes_everything_once_and_keeps_what_is_there(tmp_path: Path) -> None:
    where = tmp_path / "srv" / "chatsvc"
    done = run("init", where, "--json", cwd=tmp_path)
    assert done.status == 0
    created = json.loads(done.out)
    assert set(created) == {"config", "data_dir", "master_key", "account", "bot", "key", "operator"}
    assert (created["config"], created["data_dir"], created["master_key"]) == (
        str(where / "config.yaml"),
        str(where / "data"),
        str(where / "data" / "master.key"),
    )
    assert set(created["account"]) == ACCOUNT
    assert set(created["bot"]) == BOT
    assert set(created["key"]) == KEY | {"key"}
    assert created["account"]["plan"] == "enterprise"
    again = json.loads(run("init", where, "--json", cwd=tmp_path).out)
    assert again == {**created, "account": None, "bot": None, "key": None}
    named = tmp_path / "other.yaml"
    named.write_text("data_dir: ./elsewhere\n")
    elsewhere = json.loads(run("-c", named, "init", "--json", cwd=tmp_path).out)
    assert elsewhere["data_dir"] == str(tmp_path / "elsewhere")
    assert elsewhere["key"] is not None
    assert named.read_text() == "data_dir: ./elsewhere\n"


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
