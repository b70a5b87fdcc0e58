"""People: listed with what they asked for, found, corrected and erased."""

import pytest_asyncio

from tests.dashboard.client import Client, text_of
from tests.dashboard.site import Site


@pytest_asyncio.fixture(scope="module", loop_scope="package", autouse=True)
async def people(site: Site) -> list[str]:
    """Conversations of two known visitors, the last one first."""
    ids = [conversation.id for conversation in (await site.do("conversation.list", bot=site.mine.bot)).items]
    for conversation, name in zip(ids, ("Selin Kaya", "Deniz Yılmaz"), strict=True):
        await site.do("visitor.set", conversation=conversation, name=name, email=f"{name[:5].lower()}@example.com")
    return ids


async def test_people_are_listed_with_what_they_asked_for(reader: Client, people: list[str]) -> None:
    page = await reader.get("/people")
    assert page.records() == people
    texts = [page.row(record) for record in people]
    assert ["Selin Kaya selin@example.com" in texts[0], "Deniz Yılmaz deniz@example.com" in texts[1]] == [True, True]
    assert [text_of(cell) for cell in page.element(people[0]).iter("td")][3:5] == ["0", "1"]
    assert [text_of(cell) for cell in page.element(people[1]).iter("td")][3:5] == ["1", "0"]
    assert page.forms("visitor.set") == []
    assert (await reader.get("/people?q=deniz")).records() == people[1:]
    for nobody in ("nobody-of-that-name", "...", "about"):
        assert (await reader.get(f"/people?q={nobody}")).records() in ([], people), nobody


async def test_contact_data_and_a_note_are_kept_and_found(site: Site, editor: Client, people: list[str]) -> None:
    path = "/people?q=deniz"
    refused = await editor.submit(path, "visitor.set", name="Deniz Y.", email="no address", phone="12", note="")
    assert (refused.status, sorted(refused.faults()), "Deniz Y." in refused.body) == (422, ["email", "phone"], True)
    assert (await editor.submit(path, "visitor.set", name="Deniz Y.", email="", phone="0533 765 43 21", note="Pays late")).has(
        "Saved.", "Pays late"
    )
    shown = await editor.get("/people?q=05337654321")
    assert (shown.records(), "Deniz Y." in shown.text) == (people[1:], True)
    assert "Pays late" in (await editor.get(f"/conversations/{people[1]}")).text
    assert (await editor.post("/people", {"id": site.other.ids["conversation"], "account": site.mine.account})).status == 404


async def test_the_same_person_is_one_and_is_erased_in_one_act(site: Site, owner: Client, people: list[str]) -> None:
    site.clock.now += 1000
    await site.say(site.mine, "Hello", "another-visitor")
    other = (await site.do("conversation.list", bot=site.mine.bot)).items[0].id
    await site.do("visitor.set", conversation=other, email="selin@example.com", phone="+905331112233")
    page = await owner.get("/people")
    assert page.records() == [other, people[1]]
    assert "Selin Kaya selin@example.com+905331112233" in page.row(other)
    (form,) = [candidate for candidate in page.forms("conversation.erase") if other in (candidate.get("action") or "")]
    fields = {"user_id": "another-visitor", "bot": site.mine.bot, "yes": "1", "account": site.mine.account}
    await owner.post(form.get("action") or "", fields)
    assert (await owner.get("/people")).records() == people
