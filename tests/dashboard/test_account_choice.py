"""Tabs with different accounts: a form and an open page keep to the account that they were made for."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.dashboard.client import Client
from tests.dashboard.site import Site


@pytest_asyncio.fixture(loop_scope="package")
async def both(site: Site) -> AsyncIterator[Client]:
    """An owner of both accounts, with the other one chosen."""
    email, accounts = "both@example.com", (site.mine.account, site.other.account)
    client = await site.join(email, account=accounts[0], role="owner")
    await site.do("operator.set", email=email, account=accounts[1], role="owner")
    await client.get(f"/?account={accounts[1]}")
    yield client
    await site.do("operator.remove", email=email)


async def keys_of(site: Site, account: str) -> list[str | None]:
    return [row.key.label for row in (await site.do("key.list", account=account)).items]


async def test_a_form_acts_on_the_account_that_it_was_made_for(site: Site, both: Client) -> None:
    await both.get(f"/?account={site.mine.account}")
    page = await both.get("/keys")
    (form,) = page.forms("key.create")
    fields = dict(page.values(form))
    assert fields["account"] == site.mine.account
    # Another tab chooses the other account, in which the form must not make a key.
    await both.get(f"/?account={site.other.account}")
    answer = await both.post("/keys", {**fields, "name": "from the first tab"})
    assert (answer.status, len(answer.secrets())) == (200, 1)
    assert "from the first tab" in await keys_of(site, site.mine.account)
    assert "from the first tab" not in await keys_of(site, site.other.account)
    # The page after it shows the same account.
    assert "from the first tab" in (await both.get("/keys")).text


async def test_a_form_of_one_account_never_reaches_a_record_of_another(site: Site, both: Client, owner: Client) -> None:
    mine, other = site.mine, site.other
    for kind in ("request", "appointment"):
        fields = {"account": mine.account, "kind": kind, "id": other.ids[kind], "note": "crossed"}
        assert (await both.post("/inbox", fields)).status == 404
    assert (await both.post(f"/bots/{other.bot}", {"account": mine.account, "name": "crossed"})).status == 404
    assert (await site.do("bot.show", bot=other.bot)).name != "crossed"
    assert (await owner.post("/keys", {"account": other.account, "name": "not mine"})).status == 404
    assert (await owner.post("/keys", {"account": "never-made", "name": "not mine"})).status == 404
    assert "not mine" not in await keys_of(site, mine.account) + await keys_of(site, other.account)


async def test_a_form_of_an_account_that_was_taken_away_acts_on_no_other(site: Site, both: Client) -> None:
    page = await both.get("/keys")
    fields = dict(page.values(page.forms("key.create")[0]))
    assert fields["account"] == site.other.account
    await site.do("operator.set", email="both@example.com", account=site.other.account, role="none")
    assert (await both.post("/keys", {**fields, "name": "taken away"})).status == 404
    assert "taken away" not in await keys_of(site, site.mine.account)


async def test_an_open_page_refreshes_with_the_account_that_it_shows(site: Site, both: Client, owner: Client) -> None:
    assert (await both.get("/inbox")).records() != (await both.get(f"/inbox?account={site.mine.account}")).records()
    seen = (await both.get("/inbox")).records()
    await both.get(f"/?account={site.other.account}")
    assert (await both.get("/inbox", headers={"Chatsvc-Refresh": site.mine.account})).records() == seen
    assert (await both.get("/inbox", headers={"Chatsvc-Refresh": "never-made"})).records() != seen
    # The header chooses among the operator's own accounts alone.
    mine = (await owner.get("/inbox")).records()
    assert (await owner.get("/inbox", headers={"Chatsvc-Refresh": site.other.account})).records() == mine
