"""`chatsvc operator` and `init --operator`, with a service and without one."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime, timedelta

import pytest

from tests.cli.support import Site
from tests.store.inspection import query

OPERATOR = {"id", "email", "name", "language", "timezone", "admin", "roles", "notices", "set_up", "second_factor"} | {
    "created_at",
    "updated_at",
}
LINK = re.compile(r"http://127\.0\.0\.1:\d+/setup/([\w-]{43})")


def address() -> str:
    """An e-mail address that no other test has."""
    return f"{uuid.uuid4().hex[:12]}@example.com"


def test_operators_are_added_listed_changed_and_removed(site: Site) -> None:
    account, other, email = site.account(), site.account(), address()
    made = site.json("operator", "add", email.upper(), "--account", account, "--role", "editor", "--name", "Ada", "--language", "en")
    assert made.keys() == OPERATOR | {"link", "expires_at"}
    assert {name: made[name] for name in ("email", "name", "language", "timezone", "admin", "roles", "notices", "set_up")} == {
        "email": email, "name": "Ada", "language": "en", "admin": False, "roles": [{"account": account, "role": "editor"}],
        "notices": [], "set_up": False, "timezone": None,
    }  # fmt: skip
    match = LINK.fullmatch(made["link"])
    assert match
    assert match[1] not in repr(query(site.data / "chatsvc.db", "SELECT * FROM operator_links"))
    until = datetime.fromisoformat(made["expires_at"]) - datetime.now(UTC)
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
    assert email not in [one["email"] for one in site.json("operator", "list", "--account", account)]
    again = site.json("operator", "link", email)
    assert again["link"] != made["link"]
    assert site.json("operator", "sessions", email) == []
    site.json("account", "delete", other, "--yes")
    (left,) = [one for one in site.json("operator", "list") if one["email"] == email]
    assert left["roles"] == []
    assert site.json("operator", "remove", email)["removed"] is True
    assert site.refused("operator", "link", email) == f"there is no operator {email}"


@pytest.mark.parametrize("site", ["alone"], indirect=True)
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
    assert [one["email"] for one in fresh.json("operator", "list")] == ["a@example.com"]
    # A link that was used since the backup must not work again.
    assert query(fresh.data / "chatsvc.db", "SELECT count(*) FROM operator_links") == [(0,)]
