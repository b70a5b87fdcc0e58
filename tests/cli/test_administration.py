"""`chatsvc operator`, `init --operator`, `channel`, `audit` and `master-key`, with a service and without one."""

import json
import os
import re
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.cli.support import BOTH, Site, environment, run, usage_error
from tests.cli.test_conversation_commands import talk
from tests.store.inspection import query

OPERATOR = {"id", "email", "name", "language", "timezone", "admin", "roles", "notices", "set_up", "second_factor"} | {
    "created_at",
    "updated_at",
}
LINK = re.compile(r"http://127\.0\.0\.1:\d+/setup/([\w-]{43})")


def address() -> str:
    """An e-mail address that no other test has."""
    return f"{uuid.uuid4().hex[:12]}@example.com"


@BOTH
def test_operators_are_added_listed_changed_and_removed(site: Site) -> None:
    account, other, email = site.account(), site.account(), address()
    created = site.json("operator", "add", email.upper(), "--account", account, "--role", "editor", "--name", "Ada", "--language", "en")
    assert created.keys() == OPERATOR | {"link", "expires_at"}
    assert {name: created[name] for name in ("email", "name", "language", "timezone", "admin", "roles", "notices", "set_up")} == {
        "email": email, "name": "Ada", "language": "en", "admin": False, "roles": [{"account": account, "role": "editor"}],
        "notices": [], "set_up": False, "timezone": None,
    }  # fmt: skip
    match = LINK.fullmatch(created["link"])
    assert match
    assert match[1] not in repr(query(site.data / "chatsvc.db", "SELECT * FROM operator_links"))
    until = datetime.fromisoformat(created["expires_at"]) - datetime.now(UTC)
    assert timedelta(hours=23, minutes=50) < until <= timedelta(hours=24)
    changed = site.json("operator", "set", email, "--account", other, "--role", "owner", "--notice", "waiting", "--notice", "request")
    assert sorted(changed["roles"], key=lambda held: held["role"]) == [
        {"account": account, "role": "editor"},
        {"account": other, "role": "owner"},
    ]
    assert changed["notices"] == ["waiting", "request"]
    assert changed in site.json("operator", "list", "--account", other)
    assert site.json("operator", "set", email, "--timezone", "Europe/London")["timezone"] == "Europe/London"
    assert site.json("operator", "set", email, "--timezone", "")["timezone"] is None
    taken = site.json("operator", "set", email, "--account", account, "--role", "none", "--notice", "none")
    assert (taken["roles"], taken["notices"], taken["name"]) == ([{"account": other, "role": "owner"}], [], "Ada")
    assert email not in [operator["email"] for operator in site.json("operator", "list", "--account", account)]
    again = site.json("operator", "link", email)
    assert again["link"] != created["link"]
    assert site.json("operator", "sessions", email) == []
    site.json("account", "delete", other, "--yes")
    (left,) = [operator for operator in site.json("operator", "list") if operator["email"] == email]
    assert left["roles"] == []
    assert site.json("operator", "remove", email)["removed"] is True
    assert site.refused("operator", "link", email) == f"there is no operator {email}"


def test_refusals_say_what_to_do(site: Site) -> None:
    account, email = site.account(), address()
    site.json("operator", "add", email, "--account", account, "--role", "reader")
    for words, says in (
        (f"add {email} --admin", "operator set"),
        (f"add {address()}", "--role"),
        (f"set {email} --account {account}", "--role"),
        (f"add {address()} --account {account} --role king", "reader, editor, owner"),
        (f"set {email} --notice everything", "waiting"),
        (f"set {email} --language de", "tr, en"),
        (f"set {email} --timezone Mars", "is no time zone"),
        ("add nobody --admin", "ada@example.com"),
        (f"set {email}", "nothing to change"),
    ):
        assert says in site.refused("operator", *words.split())


def test_init_adds_an_administrator_once(fresh: Site) -> None:
    first = fresh.json("init", "--operator", "Root@Example.com")["operator"]
    assert (first["email"], first["admin"], first["roles"]) == ("root@example.com", True, [])
    assert LINK.fullmatch(first["link"])
    again = fresh.json("init", "--operator", "root@example.com")["operator"]
    assert (again["id"], again["link"]) == (first["id"], None)
    assert LINK.search(fresh.run("init", "--operator", "second@example.com").out)
    assert fresh.json("init")["operator"] is None
    assert fresh.run("init", "--operator", "second@example.com").out.count("chatsvc operator link second@example.com") == 1
    assert "e-mail" in fresh.refused("init", "--operator", "nobody")


def test_an_export_leaves_operators_out_and_a_backup_keeps_them_without_sessions(fresh: Site) -> None:
    account = fresh.account()
    fresh.json("operator", "add", "a@example.com", "--account", account, "--role", "owner")
    file, backup = fresh.folder / "account.jsonl", fresh.folder / "all.backup"
    fresh.json("account", "export", account, file)
    assert "a@example.com" not in file.read_text()
    counts = fresh.json("backup", "create", backup)["counts"]
    assert (counts["operators"], counts["operator_roles"], counts["operator_links"]) == (1, 1, 1)
    fresh.json("operator", "remove", "a@example.com")
    for name in fresh.data.glob("chatsvc.db*"):
        name.rename(fresh.folder / name.name)
    fresh.json("backup", "restore", backup)
    assert [operator["email"] for operator in fresh.json("operator", "list")] == ["a@example.com"]
    # A link that was used since the backup must not work again.
    assert query(fresh.data / "chatsvc.db", "SELECT count(*) FROM operator_links") == [(0,)]


@BOTH
def test_a_widget_is_set_listed_shown_paused_resumed_and_removed(site: Site) -> None:
    bot = site.bot(site.account())
    channel = site.json(
        "channel", "set", bot, "web", "--site", "https://shop.example.com", "--site", "https://b.example", "--title", "Help"
    )
    assert (channel["channel"], channel["state"], channel["warning"]) == ("web", "active", None)
    assert channel["sites"] == ["https://shop.example.com", "https://b.example"]
    assert site.json("channel", "set", bot, "web", "--site", "")["sites"] == []
    (listed,) = site.json("channel", "list", bot)
    assert (listed["channel"], listed["state"], listed["title"]) == ("web", "active", "Help")
    assert "web      active" in site.run("channel", "list", bot).out
    assert f'data-bot="{bot}"' in site.json("channel", "snippet", bot)["snippet"]
    assert site.run("channel", "snippet", bot).out.startswith("<script src=")
    assert site.json("channel", "pause", bot, "web")["state"] == "paused"
    assert site.json("channel", "resume", bot, "web")["state"] == "active"
    usage_error(site.run("channel", "remove", bot, "web"), "add --yes")
    assert site.json("channel", "remove", bot, "web", "--yes")["removed"] is True
    assert "has no channel web" in site.refused("channel", "pause", bot, "web")


def test_tokens_come_from_files_and_are_masked(fresh: Site) -> None:
    (fresh.folder / "config.yaml").write_text(
        'egress: none\nchannels: {telegram: {api_url: "http://127.0.0.1:9"}, whatsapp: {graph_url: "http://127.0.0.1:9/v26.0"}}\n'
    )
    bot, token = fresh.bot(fresh.account()), fresh.folder / "token"
    token.write_text("\n")
    assert "is empty" in fresh.refused("channel", "set", bot, "telegram", "--token-file", token)
    token.write_text("123:secret-token\n")
    done = fresh.run("channel", "set", bot, "telegram", "--token-file", token, "--json")
    assert "warning: telegram could not confirm the token: egress: none" in done.err
    assert '"token": "***"' in done.out
    files = [part for name in ("token", "app-secret", "verify-token") for part in (f"--{name}-file", token)]
    created = json.loads(
        fresh.run("channel", "set", bot, "whatsapp", "--phone-number-id", "1", *files, "--monthly-limit", "100", "--json").out
    )
    assert (created["token"], created["app_secret"], created["verify_token"], created["monthly_limit"]) == ("***", "***", "***", 100)
    assert "secret-token" not in fresh.run("channel", "list", bot, "--json").out
    (sent,) = fresh.json("usage")["whatsapp"]
    assert (sent["bot"], sent["sent"], sent["beyond_free"], sent["monthly_limit"]) == (bot, 0, 0, 100)
    assert "beyond_free" in fresh.run("usage").out
    assert "digits alone" in fresh.refused("channel", "set", bot, "whatsapp", "--phone-number-id", "x")
    message = fresh.run("channel", "set", bot, "whatsapp", "--monthly-limit", "50").err
    assert f"/channels/whatsapp/{bot} with your verify token at Meta's" in message
    assert "warning: WhatsApp calls public https addresses alone" in message
    with (fresh.folder / "config.yaml").open("a") as file:
        file.write('server: {public_url: "https://chat.example.com"}\n')
    assert "https addresses" not in fresh.run("channel", "set", bot, "whatsapp", "--monthly-limit", "60").err


def test_a_conversation_is_taken_answered_and_released(fresh: Site) -> None:
    with fresh.serve():
        bot, _ = talk(fresh)
        (account,) = fresh.json("account", "list")
        fresh.json("operator", "add", "ada@example.com", "--account", account["id"], "--role", "editor", "--name", "Ada")
        conversation = fresh.json("conversation", "list", "--bot", bot)[0]
        assert conversation["handling"] == "bot"
        taken = fresh.json("conversation", "take", conversation["id"], "--as", "ada@example.com")
        assert (taken["handling"], taken["operator"]) == ("operator", "Ada")
        assert "Ada has the conversation" in fresh.refused("conversation", "take", conversation["id"])
        written = fresh.json("conversation", "reply", conversation["id"], "a person here")
        assert (written["message"]["role"], written["message"]["author"]) == ("operator", "Ada")
        shown = fresh.json("conversation", "show", conversation["id"])
        assert (shown["handling"], shown["messages"][-1]["content"]) == ("operator", "a person here")
        assert {"delivery", "error", "feedback", "author"} <= set(shown["messages"][-1])
        assert "operator (Ada)" in fresh.run("conversation", "show", conversation["id"]).out
        assert fresh.json("conversation", "take", conversation["id"], "--yes")["handling"] == "operator"
        assert fresh.json("conversation", "release", conversation["id"])["handling"] == "bot"
    fresh.serving = None


ABSENT = "00000000-0000-4000-8000-000000000000"


def acts(site: Site, *ids: str) -> list[tuple[str, str]]:
    """Operation and outcome of the acts that concern any of these, oldest first."""
    shown = [act for act in site.json("audit", "--limit", "1000") if set(act["ids"].values()) & set(ids)]
    assert {act["uid"] for act in shown} <= {os.getuid()}
    return [(act["operation"], act["outcome"]) for act in shown[::-1]]


def stored(site: Site) -> str:
    return repr(query(site.data / "chatsvc.db", "SELECT * FROM audit_records"))


@BOTH
def test_acts_are_recorded_with_their_ids_and_outcomes_and_without_secrets(site: Site) -> None:
    account = site.account("Selin's Bakery")
    bot = site.bot(account, instructions="answer with pistachio")
    created: dict[str, Any] = site.json("key", "create", "--account", account, "--name", "the marzipan key")
    signing_key = site.json("webhook", "set", bot, "--pull", "--event", "request.created")["signing_key"]
    rotated = site.json("webhook", "rotate", bot)["signing_key"]
    site.json("key", "revoke", created["id"])
    # A key in the place of its id is no id.
    site.refused("key", "revoke", created["key"])
    site.refused("bot", "deactivate", ABSENT)
    assert acts(site, account, bot, created["id"], ABSENT) == [
        ("account.create", "done"),
        ("bot.create", "done"),
        ("key.create", "done"),
        ("webhook.set", "done"),
        ("webhook.rotate", "done"),
        ("key.revoke", "done"),
        ("bot.deactivate", "refused"),
    ]
    recorded = [(act["operation"], act["ids"], act["outcome"]) for act in site.json("audit", "--limit", "500")]
    assert ("bot.deactivate", {"bot": ABSENT}, "refused") in recorded
    assert ("key.revoke", {}, "refused") in recorded
    table = stored(site)
    assert account in table
    for secret in (created["key"], created["key"][10:], signing_key, rotated, "Selin", "pistachio", "marzipan"):
        assert secret not in table


def test_acts_since_a_time_are_shown_to_people_as_a_table(site: Site) -> None:
    account = site.account()
    (act,) = [act for act in site.json("audit") if act["ids"] == {"id": account}]
    assert act["operation"] == "account.create"
    assert site.json("audit", "--since", "2999-01-01") == []
    assert act in site.json("audit", "--since", act["at"][:16])
    assert site.refused("audit", "--since", "soon") == "'soon' is no time; write 2026-11-20 or 2026-11-20T08:00 (UTC)"
    heading, row = site.run("audit", "--limit", "1").out.splitlines()
    assert heading.split() == ["at", "uid", "operation", "outcome", "ids"]
    assert row.split()[1:] == [str(os.getuid()), "account.create", "done", "id", account]


@BOTH
def test_a_rotation_tells_what_it_did_and_shows_no_key(site: Site, tmp_path: Path) -> None:
    bot = site.bot(site.account())
    site.json("webhook", "set", bot, "--pull", "--event", "request.created")
    file = site.data / "master.key"
    before = file.read_text()
    rotated = site.json("master-key", "rotate")
    assert list(rotated) == ["rotated_at", "resealed", "unusable", "master_key"]
    assert (rotated["resealed"] >= 1, rotated["unusable"], rotated["master_key"]) == (True, 0, str(file))
    assert file.read_text() != before
    (tmp_path / "new").write_text("C3" * 32)
    done = site.run("master-key", "rotate", "--new-key-file", tmp_path / "new")
    assert (done.status, done.err) == (0, "")
    assert "c3c3" not in done.out.lower()
    assert file.read_text() == "c3" * 32 + "\n"
    assert site.json("webhook", "rotate", bot)["signing_key"]


def test_a_file_that_holds_no_key_is_refused_and_not_shown(site: Site, tmp_path: Path) -> None:
    (tmp_path / "new").write_text("c3" * 31 + "zz")
    before = (site.data / "master.key").read_text()
    says = site.refused("master-key", "rotate", "--new-key-file", tmp_path / "new")
    assert says == f"{tmp_path}/new does not hold a master key: 64 hexadecimal digits, as `openssl rand -hex 32` makes them"
    assert (site.data / "master.key").read_text() == before


def test_a_key_from_the_environment_is_rotated_to_the_next_one_there(fresh: Site, tmp_path: Path) -> None:
    def chatsvc(key: str | None, *arguments: str | Path) -> tuple[int, str]:
        done = run("-c", fresh.config, *arguments, env=environment(**({"CHATSVC_MASTER_KEY": key} if key else {})))
        return done.status, done.err

    assert chatsvc("5a" * 32, "init")[0] == 0
    assert not (fresh.data / "master.key").exists()
    status, err = chatsvc("5a" * 32, "master-key", "rotate")
    assert (status, "name it with --new-key-file" in err) == (1, True)
    (tmp_path / "new").write_text("c3" * 32)
    status, err = chatsvc("5a" * 32, "master-key", "rotate", "--new-key-file", tmp_path / "new")
    assert (status, err) == (0, "Put the new key into the configuration now: with the old one the service does not start again.\n")
    assert chatsvc("c3" * 32, "account", "list") == (0, "")
    for wrong in ("5a" * 32, None):
        status, err = chatsvc(wrong, "account", "list")
        assert (status, "master" in err, "5a5a" in err) == (1, True, False)
