"""Pages of the team, the account and the audit log."""

from __future__ import annotations

from tests.dashboard.client import Client, Shown
from tests.dashboard.site import PASSWORD, Site


async def test_an_owner_adds_somebody_and_passes_the_link_on(site: Site, owner: Client) -> None:
    page = await owner.submit("/operators", "operator.add", email="New@Example.com", name="Nil", role="editor", language="tr")
    (link,) = page.secrets()
    assert link.startswith(f"{site.app.config.server.public_url}/setup/")
    assert link not in (await owner.get("/shown")).body
    assert (await owner.get("/operators/new@example.com")).has("password not chosen yet", "Nil")
    guest = await site.client()
    await guest.submit(site.path_of(link), "password.set", password=PASSWORD)
    assert (await guest.get("/me")).language == "tr"
    assert (await guest.get("/operators")).status == 403


async def test_a_refused_addition_keeps_what_was_typed(owner: Client) -> None:
    page = await owner.submit("/operators", "operator.add", email="no address", name="Nil Kaya", role="owner")
    assert page.refuses("“no address” is not an e-mail address.")
    assert {"email": "no address", "name": "Nil Kaya", "role": "owner"}.items() <= page.filled("operator.add").items()
    assert (await owner.submit("/operators", "operator.add", email="reader@example.com")).refuses(
        "reader@example.com is in the list already."
    )


async def test_a_role_is_changed_and_taken_at_once(site: Site, owner: Client) -> None:
    await owner.submit("/operators", "operator.add", email="roles@example.com", role="reader", follow=False)
    link = (await owner.get("/shown")).secrets()[0]
    guest = await site.client()
    await guest.submit(site.path_of(link), "password.set", name="Nil Kaya", password=PASSWORD)
    assert (await guest.get("/audit")).status == 403
    await owner.submit("/operators/roles@example.com", "operator.set", where={"role": "reader"}, role="owner")
    assert (await guest.get("/audit")).status == 200
    await owner.submit("/operators/roles@example.com", "operator.set", where={"role": "owner"}, role="none")
    assert (await guest.get("/audit")).status == 403
    assert "no role in an account" in (await guest.get("/")).text
    assert (await owner.get("/operators/roles@example.com")).status == 404


async def test_a_new_link_ends_sessions_and_removal_asks_first(site: Site, owner: Client) -> None:
    made = await owner.submit("/operators", "operator.add", email="gone@example.com", role="reader")
    guest = await site.client()
    await guest.submit(site.path_of(made.secrets()[0]), "password.set", name="Nil Kaya", password=PASSWORD)
    assert "HTTP" in (await owner.get("/operators/gone@example.com")).text or (await owner.get("/operators/gone@example.com")).records()
    link = (await owner.submit("/operators/gone@example.com", "operator.link")).secrets()[0]
    assert (await guest.get("/me")).status == 200
    renewed = await site.client()
    await renewed.submit(site.path_of(link), "password.set", password=PASSWORD)
    assert (await guest.get("/me", follow=False)).status == 303
    assert (await owner.submit("/operators/gone@example.com", "operator.remove")).refuses("This cannot be undone. Please confirm it.")
    done = await owner.submit("/operators/gone@example.com", "operator.remove", yes="1")
    assert (done.path.startswith("/operators?"), "gone@example.com" in done.text) == (True, False)
    assert (await renewed.get("/me", follow=False)).status == 303


async def test_ones_own_page_has_no_link_and_the_last_administrator_stays(site: Site, administrator: Client) -> None:
    page = await administrator.get("/operators/administrator@example.com")
    assert page.forms("operator.link") == []
    assert (await administrator.post("/operators/administrator@example.com/link")).refuses("My settings")
    assert (await administrator.submit("/operators/administrator@example.com", "operator.set", where={"admin": "false"})).refuses(
        "last administrator"
    )
    assert (await administrator.submit("/operators/administrator@example.com", "operator.remove", yes="1")).refuses("last administrator")


async def test_a_refused_change_keeps_what_was_typed(site: Site, owner: Client) -> None:
    page = await owner.submit("/operators/editor@example.com", "operator.set", where={"language": ""}, name="n" * 201, language="en")
    forms = [dict(page.values(form)) for form in page.forms("operator.set")]
    typed = {"account": site.mine.account, "email": "editor@example.com", "name": "n" * 201, "language": "en"}
    assert (page.status, typed in forms) == (422, True)


async def test_a_name_cannot_be_emptied_and_may_stay_unset(site: Site, owner: Client) -> None:
    where = {"language": ""}
    await site.do("operator.set", email="editor@example.com", name="Nil Kaya")
    assert (await owner.submit("/operators/editor@example.com", "operator.set", where=where, name=" ", language="en")).refuses(
        "Name: please fill in this field."
    )
    await site.do("operator.add", email="unnamed@example.com", account=site.mine.account, role="reader")
    page = await owner.submit("/operators/unnamed@example.com", "operator.set", where=where, name="", language="en")
    assert page.status == 200
    found = {one.email: (one.name, one.language) for one in (await site.do("operator.list")).items}
    assert (found["editor@example.com"][0], found["unnamed@example.com"]) == ("Nil Kaya", (None, "en"))


async def test_taking_away_ones_own_role_asks_first(site: Site) -> None:
    made = await site.do("operator.add", email="leaver@example.com", account=site.mine.account, role="owner")
    leaver = await site.client()
    await leaver.submit(site.path_of(made.link), "password.set", name="Nil Kaya", password=PASSWORD)
    asked = await leaver.submit("/operators/leaver@example.com", "operator.set", where={"role": "owner"}, role="none")
    assert asked.refuses("This cannot be undone. Please confirm it.")
    assert [pair for form in asked.forms("operator.set") for pair in asked.values(form) if pair[0] == "role"] == [("role", "none")]
    gone = await leaver.submit("/operators/leaver@example.com", "operator.set", where={"role": "owner"}, role="none", yes="1")
    assert (gone.status, gone.path) == (200, "/?done=saved")
    assert "no role in an account" in gone.text


async def test_an_administrator_makes_another_one_without_a_role(site: Site, administrator: Client) -> None:
    made = await administrator.submit("/operators", "operator.add", email="second@example.com", role="none", admin="1")
    assert len(made.secrets()) == 1
    page = await administrator.submit("/operators/second@example.com", "operator.set", where={"admin": "false"})
    assert "administrator" not in page.text.partition("State")[2].partition("Role")[0]


async def test_somebody_of_another_account_gets_a_role_from_an_administrator_alone(site: Site, owner: Client) -> None:
    await site.do("operator.add", email="both@example.com", account=site.other.account, role="reader")
    assert (await owner.submit("/operators", "operator.add", email="both@example.com", role="editor")).refuses("Only an administrator")
    await site.do("operator.set", email="both@example.com", account=site.mine.account, role="editor")
    page = await owner.get("/operators/both@example.com")
    assert page.has("works for other accounts too")
    assert (page.forms("operator.link"), page.forms("operator.remove")) == ([], [])
    assert (await owner.post("/operators/both@example.com/remove", {"yes": "1"})).refuses("Only an administrator")


async def test_the_account_shows_plan_and_allowance(site: Site, owner: Client, reader: Client) -> None:
    assert (await owner.get("/account")).has("3 of 100,000 used", "enterprise")
    assert (await reader.get("/account")).status == 403
    await site.do("account.set", account=site.mine.account, messages_limit=3, status="past_due")
    assert (await owner.get("/account")).has("This month’s messages are used up", "payment overdue")
    await site.do("account.set", account=site.mine.account, messages_limit=100_000, status="active")
    turkish = await site.client("owner", "tr")
    assert "100.000 mesajdan 3 kullanıldı" in (await turkish.get("/account")).text


async def test_the_audit_log_is_that_of_the_account_and_goes_on(site: Site, owner: Client, administrator: Client) -> None:
    for count in range(60):
        await site.do("account.set", account=site.mine.account, credits=count)
    page = await owner.get("/audit")
    rows = [one for one in page.tree.iter("tr") if one.find("td") is not None]
    assert len(rows) == 50
    assert page.records() == sorted({one.get("data-id", "") for one in rows}, key=int, reverse=True)
    assert page.has("root", "command line")
    (more,) = page.links("next")
    older = await owner.get(more)
    assert ("Add an operator" in older.text, older.links("first")) == (True, ["/audit"])
    assert site.other.account not in page.body + older.body
    assert "Strangers Ltd" in (await administrator.get("/audit")).body
    assert "Nothing is recorded" in (await owner.get("/audit?since=2030-01-01")).text
    acts = await owner.get("/audit?act=operator.add")
    assert ({"".join(one.itertext()) for one in acts.tree.iter("td") if one.get("data-label") == "What"}) == {"Add an operator"}
    me = (await site.do("operator.list", account=site.mine.account)).items
    (person,) = [one.id for one in me if one.email == site.email("reader")]
    assert (await owner.get(f"/audit?actor={person}&act=operator.add")).records() == []
    assert (await owner.get("/audit?since=yesterday")).refuses("is not a time")


async def test_the_audit_log_names_the_records(site: Site, owner: Client) -> None:
    added = await site.do("operator.add", email="named@example.com", account=site.mine.account, role="reader")
    bot = await site.do("bot.create", name="Second", account=site.mine.account)
    await site.do("bot.deactivate", bot=bot.id)
    key = await site.do("key.create", account=site.mine.account)
    page, turkish = await owner.get("/audit"), await (await site.client("owner", "tr")).get("/audit")
    assert {"Team member: named@example.com", "Bot: Second", f"API key: {key.key.id}"} <= set(smalls(page))
    assert {"Ekip üyesi: named@example.com", f"API anahtarı: {key.key.id}"} <= set(smalls(turkish))
    assert added.operator.id in page.body
    assert [one for one in smalls(page) if one.startswith(("id", "operator", "bot"))] == []


def smalls(page: Shown) -> list[str]:
    """The texts in small print."""
    return [" ".join("".join(one.itertext()).split()) for one in page.tree.iter("small")]


async def test_a_refused_change_is_recorded_with_the_operator(site: Site, reader: Client, owner: Client) -> None:
    answer = await reader.post("/operators", {"email": "x@example.com", "role": "owner"})
    assert answer.status == 403
    page = await owner.get("/audit")
    row = next(one for one in page.tree.iter("tr") if "refused" in "".join(one.itertext()))
    assert "Add an operator" in "".join(row.itertext())
    assert "Reader" in "".join(row.itertext())
