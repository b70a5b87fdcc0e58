"""`chatsvc audit`: every act has its record, whoever does it and however; no record tells a secret."""

from __future__ import annotations

import os
from typing import Any

from tests.cli.support import Site
from tests.store.inspection import query

ABSENT = "00000000-0000-4000-8000-000000000000"


def acts(site: Site, *ids: str) -> list[tuple[str, str]]:
    """Operation and outcome of the acts that concern any of these, oldest first."""
    shown = [act for act in site.json("audit", "--limit", "1000") if set(act["ids"].values()) & set(ids)]
    assert {act["uid"] for act in shown} <= {os.getuid()}
    return [(act["operation"], act["outcome"]) for act in shown[::-1]]


def stored(site: Site) -> str:
    return repr(query(site.data / "chatsvc.db", "SELECT * FROM audit_records"))


def test_acts_are_recorded_with_their_ids_and_outcomes_and_without_secrets(site: Site) -> None:
    account = site.account("Selin's Bakery")
    bot = site.bot(account, instructions="the words of instructions")
    made: dict[str, Any] = site.json("key", "create", "--account", account, "--name", "the key's label")
    signing_key = site.json("webhook", "set", bot, "--pull", "--event", "request.created")["signing_key"]
    rotated = site.json("webhook", "rotate", bot)["signing_key"]
    site.json("key", "revoke", made["id"])
    # A key in the place of its id is no id.
    site.refused("key", "revoke", made["key"])
    site.refused("bot", "deactivate", ABSENT)
    assert acts(site, account, bot, made["id"], ABSENT) == [
        ("account.create", "done"),
        ("bot.create", "done"),
        ("key.create", "done"),
        ("webhook.set", "done"),
        ("webhook.rotate", "done"),
        ("key.revoke", "done"),
        ("bot.deactivate", "refused"),
    ]
    assert [(act["operation"], act["ids"], act["outcome"]) for act in site.json("audit", "--limit", "2")] == [
        ("bot.deactivate", {"bot": ABSENT}, "refused"),
        ("key.revoke", {}, "refused"),
    ]
    table = stored(site)
    assert account in table
    for secret in (made["key"], made["key"][10:], signing_key, rotated, "Selin", "instructions", "label", "Desk"):
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
