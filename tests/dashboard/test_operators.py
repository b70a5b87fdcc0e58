"""Pages of the team, the account and the audit log."""

from typing import Any

from tests.dashboard.client import Client, Shown, text_of
from tests.dashboard.site import PASSWORD, Site

CONFIRM = "This cannot be undone. Please confirm it."


async def use(site: Site, link: str, **typed: Any) -> Client:
    """Choose a password by a set-up link in a new browser."""
    guest = await site.client()
    await guest.submit(site.path_of(link), "password.set", password=PASSWORD, **typed)
    return guest


async def test_an_owner_adds_somebody_and_passes_the_link_on(site: Site, owner: Client) -> None:
    page = await owner.submit("/operators", "operator.add", email="New@Example.com", name="Nil", role="editor", language="tr")
    (link,) = page.secrets()
    assert link.startswith(f"{site.app.config.server.public_url}/setup/")
    assert link not in (await owner.get("/shown")).body
    assert (await owner.get("/operators/new@example.com")).has("password not chosen yet", "Nil")
    guest = await use(site, link)
    assert ((await guest.get("/me")).language, (await guest.get("/operators")).status) == ("tr", 403)


async def test_a_refused_addition_or_change_keeps_what_was_typed(site: Site, owner: Client) -> None:
    page = await owner.submit("/operators", "operator.add", email="no address", name="Nil Kaya", role="owner")
    assert page.refuses("“no address” is not an e-mail address.")
    assert {"email": "no address", "name": "Nil Kaya", "role": "owner"}.items() <= page.filled("operator.add").items()
    page = await owner.submit("/operators", "operator.add", email="reader@example.com")
    assert page.refuses("reader@example.com is in the list already.")
    path = "/operators/editor@example.com"
    page = await owner.submit(path, "operator.set", where={"language": ""}, name="n" * 201, language="en")
    typed = {"account": site.mine.account, "email": "editor@example.com", "name": "n" * 201, "language": "en"}
    assert (page.status, page.filled("operator.set", language="en")) == (422, typed)
    page = await owner.submit(path, "operator.set", where={"language": ""}, name=" ", language="en")
    assert page.refuses("Name: please fill in this field.")


async def test_a_role_is_changed_and_taken_at_once(site: Site, owner: Client) -> None:
    (link,) = (await owner.submit("/operators", "operator.add", email="roles@example.com", role="reader")).secrets()
    guest, path = await use(site, link, name="Nil Kaya"), "/operators/roles@example.com"
    assert (await guest.get("/audit")).status == 403
    for before, role, status in (("reader", "owner", 200), ("owner", "none", 403)):
        await owner.submit(path, "operator.set", where={"role": before}, role=role)
        assert (await guest.get("/audit")).status == status
    assert (await guest.get("/")).has("no role in an account")
    assert (await owner.get(path)).status == 404


async def test_a_new_link_ends_sessions_and_removal_asks_first(site: Site, owner: Client) -> None:
    (link,) = (await owner.submit("/operators", "operator.add", email="gone@example.com", role="reader")).secrets()
    guest, path = await use(site, link, name="Nil Kaya"), "/operators/gone@example.com"
    assert (await owner.get(path)).records()
    (link,) = (await owner.submit(path, "operator.link")).secrets()
    assert (await guest.get("/me")).status == 200
    renewed = await use(site, link)
    assert (await guest.get("/me", follow=False)).status == 303
    assert (await owner.submit(path, "operator.remove")).refuses(CONFIRM)
    done = await owner.submit(path, "operator.remove", yes="1")
    assert (done.path.startswith("/operators?"), "gone@example.com" in done.text) == (True, False)
    assert (await renewed.get("/me", follow=False)).status == 303


async def test_ones_own_page_has_no_link_and_the_last_administrator_stays(administrator: Client) -> None:
    path = "/operators/administrator@example.com"
    assert (await administrator.get(path)).forms("operator.link") == []
    assert (await administrator.post(f"{path}/link")).refuses("My settings")
    assert (await administrator.submit(path, "operator.set", where={"admin": "false"})).refuses("last administrator")
    assert (await administrator.submit(path, "operator.remove", yes="1")).refuses("last administrator")
    added = await administrator.submit("/operators", "operator.add", email="second@example.com", role="none", admin="1")
    assert len(added.secrets()) == 1
    page = await administrator.submit("/operators/second@example.com", "operator.set", where={"admin": "false"})
    assert "administrator" not in page.text.partition("State")[2].partition("Role")[0]


async def test_a_name_may_stay_unset(site: Site, owner: Client) -> None:
    await site.do("operator.add", email="unnamed@example.com", account=site.mine.account, role="reader")
    page = await owner.submit("/operators/unnamed@example.com", "operator.set", where={"language": ""}, name="", language="en")
    (operator,) = [entry for entry in (await site.do("operator.list")).items if entry.email == "unnamed@example.com"]
    assert (page.status, operator.name, operator.language) == (200, None, "en")


async def test_taking_away_ones_own_role_asks_first(site: Site) -> None:
    leaver, path = await site.join("leaver@example.com", account=site.mine.account, role="owner"), "/operators/leaver@example.com"
    asked = await leaver.submit(path, "operator.set", where={"role": "owner"}, role="none")
    assert (asked.refuses(CONFIRM), asked.filled("operator.set", role="none")["role"]) == (True, "none")
    gone = await leaver.submit(path, "operator.set", where={"role": "owner"}, role="none", yes="1")
    assert (gone.path, gone.has("no role in an account")) == ("/?done=saved", True)


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
    assert (await (await site.client("owner", "tr")).get("/account")).has("100.000 mesajdan 3 kullanıldı")


async def test_the_audit_log_is_that_of_the_account_and_goes_on(site: Site, owner: Client, administrator: Client) -> None:
    for count in range(60):
        await site.do("account.set", account=site.mine.account, credits=count)
    page = await owner.get("/audit")
    rows = [row for row in page.tree.iter("tr") if row.find("td") is not None]
    assert len(rows) == 50
    assert page.records() == sorted({row.get("data-id", "") for row in rows}, key=int, reverse=True)
    assert page.has("root", "command line")
    (more,) = page.links("next")
    older = await owner.get(more)
    assert ("Add an operator" in older.text, older.links("first")) == (True, ["/audit"])
    assert site.other.account not in page.body + older.body
    assert "Strangers Ltd" in (await administrator.get("/audit")).body
    assert "Nothing is recorded" in (await owner.get("/audit?since=2030-01-01")).text
    acts = await owner.get("/audit?act=operator.add")
    assert ({"".join(cell.itertext()) for cell in acts.tree.iter("td") if cell.get("data-label") == "What"}) == {"Add an operator"}
    me = (await site.do("operator.list", account=site.mine.account)).items
    (person,) = [operator.id for operator in me if operator.email == site.email("reader")]
    assert (await owner.get(f"/audit?actor={person}&act=operator.add")).records() == []
    assert (await owner.get("/audit?since=yesterday")).refuses("is not a time")


async def test_the_audit_log_words_values_as_the_page_of_their_setting(site: Site, administrator: Client) -> None:
    account = (await site.do("account.create", name="Worded Ltd")).account
    bot = await site.do("bot.create", name="Worded", account=account.id, language="en")
    changes = {"opening_hours": "tue-sat 09:00-19:00; sun 11:00-16:00", "language": "tr", "fallback": "knowledge", "hand_off": True}
    await site.do("bot.set", bot=bot.id, suggestions=["Kesim ne kadar?", "Açık mısınız?"], form_of_address="familiar", **changes)
    await site.do("operator.add", email="worded@example.com", account=account.id, role="reader")
    await site.do("operator.set", email="worded@example.com", account=account.id, role="owner")
    page = await (await site.client("administrator", "tr")).get("/audit")
    assert page.has("Salı-Cumartesi 09:00-19:00; Pazar 11:00-16:00", "İngilizce → Türkçe", "Kesim ne kadar?, Açık mısınız?", "samimi (sen)")
    assert page.has("bilgi kayıtlarından yanıt verilsin", "hayır → evet", "Rol: Worded Ltd: izleyici → sahip")
    rows = ["".join(row.itertext()) for row in page.tree.iter("tr")]
    assert [row.count("Worded Ltd") for row in rows if "Hesap oluşturma" in row and "Worded" in row] == [1]


async def test_the_audit_log_names_the_records(site: Site, owner: Client) -> None:
    added = await site.do("operator.add", email="named@example.com", account=site.mine.account, role="reader")
    bot = await site.do("bot.create", name="Second", account=site.mine.account)
    await site.do("bot.deactivate", bot=bot.id)
    key = await site.do("key.create", account=site.mine.account)
    page, turkish = await owner.get("/audit"), await (await site.client("owner", "tr")).get("/audit")
    assert {"Team member: named@example.com", "Bot: Second", f"API key: {key.key.id}"} <= set(smalls(page))
    assert {"Ekip üyesi: named@example.com", f"API anahtarı: {key.key.id}"} <= set(smalls(turkish))
    assert added.operator.id in page.body
    assert [text for text in smalls(page) if text.startswith(("id", "operator", "bot"))] == []


def smalls(page: Shown) -> list[str]:
    """The texts in small print."""
    return [text_of(small) for small in page.tree.iter("small")]


async def test_a_refused_change_is_recorded_with_the_operator(reader: Client, owner: Client) -> None:
    assert (await reader.post("/operators", {"email": "x@example.com", "role": "owner"})).status == 403
    row = next(text for row in (await owner.get("/audit")).tree.iter("tr") if "refused" in (text := text_of(row)))
    assert ("Add an operator" in row, "Reader" in row) == (True, True)
