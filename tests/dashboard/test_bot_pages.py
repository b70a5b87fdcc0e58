"""Pages of bots: list, create, settings, sentences, forms, file."""

from __future__ import annotations

import re
from typing import Any

import phonenumbers
import pytest

from chatsvc import translations
from chatsvc.domain import profiles, times
from chatsvc.domain.models import Bot
from chatsvc.domain.opening_hours import DAYS
from chatsvc.domain.profiles import Profile
from chatsvc.engines.knowledge.say import own_greeting
from chatsvc.store import channels as stored_channels
from chatsvc.store import platforms
from tests.dashboard.client import Client, encoded
from tests.dashboard.site import Site


async def bot_of(site: Site) -> Bot:
    found: Bot = await site.do("bot.show", bot=site.mine.bot)
    return found


async def profile_of(site: Site) -> Profile:
    return profiles.load((await bot_of(site)).profile)


async def test_an_owner_creates_a_bot_and_teaches_it_next(site: Site, owner: Client, editor: Client) -> None:
    page = await owner.get("/bots")
    assert page.records() == [site.mine.bot]
    assert (await editor.get("/bots")).forms("bot.create") == []
    assert (await editor.post("/bots", {"name": "x"})).status == 403
    refused = await owner.submit("/bots", "bot.create", name="Second desk", timezone="Mars", description="Evenings")
    assert refused.status == 422
    assert "“Mars” is not a time zone" in refused.alert
    assert "Evenings" in refused.body
    page = await owner.submit("/bots", "bot.create", name="Second desk", model="offline", language="en")
    made = page.path.split("/")[2]
    assert page.path == f"/bots/{made}/knowledge?done=bot_created"
    assert "knows nothing yet" in page.text
    assert (await site.do("bot.show", bot=made)).model == "offline"


async def test_languages_and_countries_are_chosen_by_name(site: Site, owner: Client) -> None:
    here = f"/bots/{site.mine.bot}"
    await site.do("bot.set", bot=site.mine.bot, language="gsw-CH", country="DE")
    page = await owner.get(here)
    assert '<option value="gsw-CH" selected>gsw-CH</option>' in page.body
    assert '<option value="DE" selected>Germany</option>' in page.body
    names = re.findall(r">([^<]+)</option>", page.body)
    assert names[:3] == ["English", "Turkish", "Albanian"]
    assert names.index("Åland Islands") < names.index("Germany") < names.index("Zimbabwe")
    assert "<option>America/New_York</option>" in page.body
    turkish = await (await site.client("owner", "tr")).get(here)
    assert '<option value="DE" selected>Almanya</option>' in turkish.body
    # A new bot is offered the place of another one.
    assert '<option value="DE" selected>Germany</option>' in (await owner.get("/bots")).body
    await site.do("bot.set", bot=site.mine.bot, language="tr", country="TR")


def test_every_country_has_a_name() -> None:
    assert translations.section("countries").keys() == phonenumbers.SUPPORTED_REGIONS


async def set_piece(page: Client, site: Site, piece: str, **typed: Any) -> Any:
    """Fill in the form of one piece of the settings."""
    return await page.submit(f"/bots/{site.mine.bot}", "bot.set", where={"piece": piece}, **typed)


async def test_settings_are_changed_in_pieces_and_what_was_typed_is_kept(site: Site, owner: Client) -> None:
    page = await set_piece(owner, site, "hours", hours_mon="9-18", hours_sat="10-12, 13-15.30")
    assert "Saved." in page.text
    bot = await bot_of(site)
    assert bot.opening_hours == "mon 09:00-18:00; sat 10:00-12:00; sat 13:00-15:30"
    shown = dict(page.values(page.forms("bot.set")[1]))
    assert [shown[f"hours_{day}"] for day in ("mon", "tue", "sat")] == ["09:00-18:00", "", "10:00-12:00, 13:00-15:30"]
    assert "Times are in Europe/Istanbul." in page.text
    greetings = {"greeting": "Hoş geldiniz!", "en": "Welcome to {name}!", "form_of_address": "familiar"}
    await set_piece(owner, site, "voice", suggestion=["Where are you?", "", " How much is it? ", ""], **greetings)
    profile = await profile_of(site)
    assert (profile.suggestions, profile.form_of_address) == (("Where are you?", "How much is it?"), "familiar")
    bot = await bot_of(site)
    assert [own_greeting(bot, language) for language in ("tr", "en", "de")] == [
        "Hoş geldiniz!",
        f"Welcome to {bot.name}!",
        "Hoş geldiniz!",
    ]
    page = await set_piece(owner, site, "voice", suggestion=["", "x" * 81], en="Ahoy {nobody}", greeting="x" * 1001)
    assert page.faults().keys() == {"", "en", "greeting"}
    assert "Suggested questions › 1: expected at most 80 characters" in page.faults()[""]
    assert "x" * 81 in page.body
    page = await set_piece(owner, site, "general", name="", timezone="Mars", country="XX", description="kept")
    assert (page.status, "kept" in page.body) == (422, True)
    assert page.faults() == {
        "name": "Name of the bot: please fill in this field.",
        "timezone": "“Mars” is not a time zone. Example: Europe/Istanbul.",
        "country": "“XX” is not a country. Write two letters, such as TR.",
    }
    assert all(text in page.alert for text in page.faults().values())
    page = await set_piece(owner, site, "hours", hours_mon="9-12", hours_tue="9 to never", hours_sun="18-17:30")
    assert "The opening hours cannot be read: write the hours of Tuesday, Sunday like" in page.alert
    assert page.faults().keys() == {"hours_tue", "hours_sun"}
    shown = dict(page.values(page.forms("bot.set")[1]))
    assert [shown[name] for name in ("hours_mon", "hours_tue", "hours_sun")] == ["9-12", "9 to never", "18-17:30"]
    assert (await bot_of(site)).opening_hours == bot.opening_hours
    await owner.post(f"/bots/{bot.id}", {"hours_sat": ""})
    assert (await bot_of(site)).opening_hours == "mon 09:00-18:00"
    page = await set_piece(owner, site, "model", ask_back="off", fallback="knowledge")
    assert ((await bot_of(site)).ask_back, (await bot_of(site)).fallback) == (False, "knowledge")
    page = await set_piece(owner, site, "hand_off", hand_off="on", hand_off_wait="15", hand_off_return="")
    assert ((await bot_of(site)).hand_off, (await bot_of(site)).hand_off_wait, (await bot_of(site)).hand_off_return) == (True, 15, 30)
    page = await set_piece(owner, site, "hand_off", hand_off_wait="0", hand_off_return="many")
    assert (page.status, page.faults().keys()) == (422, {"hand_off_wait", "hand_off_return"})


async def test_contact_data_and_the_length_of_appointments_are_checked(site: Site, owner: Client) -> None:
    page = await set_piece(owner, site, "general", phone="call us", email="nobody", address="Kaya Sok. 5")
    assert (page.status, page.faults().keys()) == (422, {"phone", "email"})
    await set_piece(owner, site, "general", phone="0212 555 01 02", email="Desk@example.com", address="Kaya Sok. 5")
    await set_piece(owner, site, "forms", appointment_minutes="45", appointments_at_once="2")
    found = await bot_of(site)
    assert (found.phone, found.email, found.address) == ("0212 555 01 02", "desk@example.com", "Kaya Sok. 5")
    assert (found.appointment_minutes, found.appointments_at_once) == (45, 2)
    page = await set_piece(owner, site, "forms", appointment_minutes="0", appointments_at_once="101")
    assert (page.status, page.faults().keys()) == (422, {"appointment_minutes", "appointments_at_once"})


async def test_today_names_the_settings_that_are_missing(site: Site, owner: Client) -> None:
    bot = await site.do("bot.set", bot=site.mine.bot, phone="")
    assert f'data-bot="{bot.id}"' in (await owner.get("/")).body
    await site.do("bot.set", bot=bot.id, phone="0212 555 01 02", address="Kaya Sok. 5", opening_hours="mon 09:00-10:00")
    assert f'data-bot="{bot.id}"' not in (await owner.get("/")).body


def days(first: str, last: str = "", note: str = "") -> dict[str, Any]:
    """Fields of the form that adds closed days."""
    return {"from": first, "to": last, "note": note}


async def test_closed_days_have_a_name_and_are_added_and_removed_one_by_one(site: Site, editor: Client, reader: Client) -> None:
    here = f"/bots/{site.mine.bot}"
    page = await editor.submit(here, "closed.add", **days("2027-03-09", "2027-03-11", "Ramazan Bayramı"))
    assert ("Saved." in page.text, "9 March 2027 – 11 March 2027 Ramazan Bayramı" in page.text) == (True, True)
    await editor.submit(here, "closed.add", **days("2026-12-31"))
    turkish = await site.client("reader", "tr")
    for shown in ((await turkish.get(here)).text, (await editor.get(f"{here}/bot.yaml")).body):
        assert "Ramazan Bayramı" in shown
    assert "31 Aralık 2026 9 Mart 2027 – 11 Mart 2027 Ramazan Bayramı" in (await turkish.get(here)).text
    assert [str(one) for one in (await profile_of(site)).closed] == ["2026-12-31", "2027-03-09..2027-03-11 Ramazan Bayramı"]
    page = await editor.submit(here, "closed.add", **days("2027-03-09", "2027-03-08", "kept"))
    assert ("Closed days › 1: expected a day such as 2026-12-31" in page.alert, "kept" in page.body) == (True, True)
    page = await editor.submit(here, "closed.add", **days("2027-03-09", "", "x" * 81))
    assert "Closed days › 1: expected at most 80 characters" in page.alert
    await editor.submit(here, "closed.add", **days("2027-03-09", "2027-03-12"))
    assert [str(one) for one in (await profile_of(site)).closed] == ["2026-12-31", "2027-03-09..2027-03-12"]
    assert (await reader.post(f"{here}/closed", {"from": "2027-05-01"})).status == 403
    for _ in range(2):
        page = await editor.post(f"{here}/closed/remove", {"from": "2026-12-31"})
        assert page.status == 200
    assert [str(one) for one in (await profile_of(site)).closed] == ["2027-03-09..2027-03-12"]
    await editor.submit(here, "closed.remove")
    assert "No closed days yet." in (await editor.get(here)).text


async def test_an_editor_changes_words_and_hours_alone_and_a_reader_nothing(site: Site, editor: Client, reader: Client) -> None:
    here = f"/bots/{site.mine.bot}"
    page = await editor.get(here)
    names = {name for form in page.forms("bot.set") for name, _ in page.values(form)}
    hours = {f"hours_{day}" for day in DAYS}
    assert names == {"id", "piece", "version", "greeting", "en", "description", "instructions", "form_of_address", "suggestion"} | hours
    assert "Saved." in (await editor.submit(here, "bot.set", description="By the sea")).text
    assert (await editor.post(here, {"name": "mine now"})).status == 403
    page = await reader.get(here)
    assert page.forms("bot.set") == []
    assert "By the sea" in page.text
    assert (await reader.post(here, {"greeting": "x"})).status == 403
    for path in ("/activate", "/deactivate"):
        assert (await editor.post(here + path)).status == 403
    for path in ("/texts/done", "/forms/quote"):
        assert (await reader.get(here + path)).status == 403
    assert (await editor.get(f"{here}/file")).status == 403


async def test_a_bot_is_switched_off_and_on(site: Site, owner: Client) -> None:
    here = f"/bots/{site.mine.bot}"
    page = await owner.submit(here, "bot.deactivate")
    assert "The bot is off." in page.text
    assert not (await bot_of(site)).active
    assert "visitors get no answer at the moment" in (await owner.get(f"{here}/try")).text
    await owner.submit(here, "bot.activate")
    assert (await bot_of(site)).active


async def test_an_owner_deletes_a_bot_after_confirming(site: Site, owner: Client, editor: Client) -> None:
    gone = (await site.do("bot.create", name="Second desk", account=site.mine.account)).id
    assert (await editor.get(f"/bots/{gone}")).forms("bot.delete") == []
    assert (await owner.submit(f"/bots/{gone}", "bot.delete")).alert == "This cannot be undone. Please confirm it."
    page = await owner.submit(f"/bots/{gone}", "bot.delete", yes="1")
    assert (page.path, gone in page.records(), site.mine.bot in page.records()) == ("/bots?done=removed", False, True)


async def test_sentences_are_found_reworded_and_restored(site: Site, editor: Client, reader: Client) -> None:
    here = f"/bots/{site.mine.bot}/texts"
    assert len((await reader.get(here)).records()) > 100
    assert "done" in (await reader.get(f"{here}?q=DONE")).records()
    assert (await reader.get(f"{here}?q=nothing-like-it")).records() == []
    page = await editor.submit(f"{here}/smalltalk.greeting", "bot.set", en="Ahoy, {name} here!")
    assert "Saved." in page.text
    assert (await profile_of(site)).texts["smalltalk.greeting"] == {"en": "Ahoy, {name} here!"}
    page = await editor.get(f"{here}?status=own")
    assert page.records() == ["smalltalk.greeting"]
    assert "Hello! Ahoy, {name} here! my own wording" in page.text
    assert 'placeholder="Hello, I&#39;m {name}. How can I help you?"' in (await editor.get(f"{here}/smalltalk.greeting")).body
    page = await editor.submit(f"{here}/smalltalk.greeting", "bot.set", en="Ahoy, {nobody}!")
    assert page.faults().keys() == {"en"}
    assert "the placeholders of this sentence are {name}" in page.alert
    assert "Ahoy, {nobody}!" in page.body
    await editor.submit(f"{here}/smalltalk.greeting", "bot.set", en="")
    assert "smalltalk.greeting" not in (await profile_of(site)).texts
    assert (await editor.get(f"{here}/nothing")).status == 404


async def test_a_form_gets_fields_and_an_appointment_its_kind(site: Site, editor: Client) -> None:
    here = f"/bots/{site.mine.bot}/forms"
    room: dict[str, Any] = {"is": "nights", "name_0": "Room", "kind_0": "choice", "choices_0": "sea, garden", "ask_en_0": "Which room?"}
    page = await editor.submit(f"{here}/appointment", "bot.set", **room)
    assert "Saved." in page.text
    assert "How many nights would you like to stay? … Could you briefly" in page.text
    assert ("Which room? (sea / garden)" in page.text, page.body.count('class="chip"')) == (True, 2)
    assert "Also asks for: Room" in (await editor.get(f"/bots/{site.mine.bot}")).text
    form = (await profile_of(site)).form("appointment")
    assert (form.appointment, form.fields[0].choices, form.fields[0].required) == ("nights", ("sea", "garden"), True)
    page = await editor.submit(f"{here}/quote", "bot.set", name_0="Colour", kind_0="choice")
    assert "Forms › quote › fields › 1: choices belong to a field of kind choice" in page.alert
    assert page.faults().keys() == {"name_0"}
    assert "Colour" in page.body
    # The buttons of rows change what is shown, and save nothing.
    page = await editor.submit(f"{here}/appointment", "bot.set", do="add")
    assert "Not saved yet." in page.text
    rows = {"name_0": "Room", "name_1": "Guests", "kind_1": "number", "choices_1": "", "ask_tr_1": "", "ask_en_1": "", "name_2": "Dog"}
    for act, names in (("down-0", ["Guests", "Room", "Dog"]), ("up-2", ["Room", "Dog", "Guests"]), ("remove-1", ["Room", "Dog"])):
        page = await editor.post(f"{here}/appointment", {"account": site.mine.account, **rows, "do": act})
        assert [value for name, value in page.values(page.forms("bot.set")[0]) if name.startswith("name_")] == names
    assert len((await profile_of(site)).form("appointment").fields) == 1
    await editor.submit(f"{here}/appointment", "bot.set", name_0="")
    assert (await profile_of(site)).form("appointment").fields == ()
    assert (await editor.get(f"{here}/nothing")).status == 404


async def test_a_bots_file_is_downloaded_and_applied(site: Site, owner: Client, reader: Client) -> None:
    here = f"/bots/{site.mine.bot}"
    file = await reader.get(f"{here}/bot.yaml")
    assert (file.status, file.headers["Content-Type"]) == (200, "application/yaml")
    assert "greeting:" in file.body
    shown = await owner.submit(f"{here}/file", "bot.apply", file=("bot.yaml", b"description: From a file\n"))
    lines = ["".join(one.itertext()) for one in shown.tree.iter() if one.tag in ("del", "ins")]
    assert ([line[0] for line in lines], lines[1]) == (["-", "+"], '+description: "From a file"')
    assert (await bot_of(site)).description != "From a file"
    (form,) = shown.forms("bot.apply")
    page = await owner.post(f"{here}/file", encoded(form, shown.values(form)))
    assert page.path == f"{here}?done=saved"
    assert (await bot_of(site)).description == "From a file"
    again = await owner.submit(f"{here}/file", "bot.apply", text="description: From a file")
    assert ("The file changes nothing." in again.text, again.forms("bot.apply")) == (True, [])
    page = await owner.submit(f"{here}/file", "bot.apply", text="closed: [soon]\nnam: x\n")
    assert page.status == 422
    assert "bot.yaml:1:10: expected a day" in page.alert
    assert "nam: x" in page.body
    page = await owner.submit(f"{here}/file", "bot.apply", file=("bot.yaml", "description: ğ\n".encode("utf-16")))
    assert "bot.yaml: the file is not UTF-8" in page.alert


@pytest.mark.parametrize("path", ["", "/texts", "/knowledge", "/unanswered", "/try"])
async def test_every_page_of_a_bot_has_its_tabs(site: Site, reader: Client, path: str) -> None:
    page = await reader.get(f"/bots/{site.mine.bot}{path}")
    assert page.status == 200
    assert {f"/bots/{site.mine.bot}/knowledge", f"/bots/{site.mine.bot}/try"} <= set(page.links())


async def test_an_owner_sets_pauses_and_removes_the_widget(site: Site, owner: Client, editor: Client) -> None:
    path = f"/bots/{site.mine.bot}/channels"
    assert (await editor.get(path)).status == 403
    refused = await owner.submit(path, "channel.set", site=["ftp://shop.example.com"], title="Ask us", color="red", privacy_url="x.test")
    assert (refused.status, "Ask us" in refused.body, "ftp://shop.example.com" in refused.alert) == (422, True, True)
    assert refused.faults().keys() == {"site", "color"}
    page = await owner.submit(path, "channel.set", site=["shop.example.com\nhttp://localhost:8080"], color="#336699")
    assert "&lt;script src=" in page.body
    assert "data-color=&#34;#336699&#34;" in page.body
    (web,) = await site.do("channel.list", bot=site.mine.bot)
    assert web.sites == ["https://shop.example.com", "http://localhost:8080"]
    assert 'fill="#336699"' in page.body
    await stored_channels.note_refused(site.app.services.db, web.id, "https://blog.example.com", site.clock())
    assert "https://blog.example.com" not in (await editor.get("/")).body
    (link,) = re.findall(r'href="([^"]*site=[^"]*)"', (await owner.get("/")).body)
    page = await owner.submit(link, "channel.set", launcher="Questions?", position="left", theme="dark")
    (web,) = await site.do("channel.list", bot=site.mine.bot)
    assert web.sites == ["https://shop.example.com", "http://localhost:8080", "https://blog.example.com"]
    assert (web.text("launcher"), web.text("position"), web.text("theme")) == ("Questions?", "left", "dark")
    assert "https://blog.example.com" not in (await owner.get("/")).body
    wrong = await owner.submit(path, "channel.set", logo=("logo.svg", b"<svg/>"), site="any-link")
    assert wrong.faults().keys() == {"logo"}
    page = await owner.submit(path, "channel.set", logo=("logo.png", b"\x89PNG\r\n\x1a\n"), site="any-link")
    assert '<img src="data:image/png;base64,iVBORw0KGgo="' in page.body
    assert "data:image" in (await owner.submit(path, "channel.set", site="any-link", title="Ask us")).body
    page = await owner.submit(path, "channel.set", site="any-link", no_logo="1")
    assert "data:image" not in page.body
    page = await owner.submit(path, "channel.set", site=["", "any-link"])
    assert f"/chat/{site.mine.bot}" in page.body
    assert "&lt;script src=" not in page.body
    await owner.submit(path, "channel.pause")
    assert [one.state for one in await site.do("channel.list", bot=site.mine.bot)] == ["paused"]
    await owner.submit(path, "channel.resume")
    assert (await owner.submit(path, "channel.remove")).status == 422
    await owner.submit(path, "channel.remove", yes="1")
    assert await site.do("channel.list", bot=site.mine.bot) == []


async def test_an_owner_sets_telegram_and_sees_what_is_wrong_with_it(site: Site, owner: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    path, where = f"/bots/{site.mine.bot}/channels", {"channel": "telegram"}
    assert "@BotFather" in (await owner.get(path)).body
    refused = await owner.submit(path, "channel.set", where=where, token="no token of mine")
    assert (refused.status, "no token of mine" in refused.body) == (422, False)
    monkeypatch.setattr(site.app.services.egress, "allowed", False)  # the token cannot be confirmed
    page = await owner.submit(path, "channel.set", where=where, token="123:a-token")
    assert "could not be reached" in page.body
    assert "123:a-token" not in page.body
    (telegram,) = await site.do("channel.list", bot=site.mine.bot)
    assert (telegram.identity, telegram.state) == ("123", "active")
    await site.app.services.channels.note_fault(telegram, "token_elsewhere")
    await stored_channels.note_seen(site.app.services.db, telegram.id, site.clock.now)
    page = await owner.get(path)
    assert "Another program asks" in page.body
    assert ("Last message" in page.body, "(just now)" in page.body) == (True, True)
    for seconds, shown in ((90, "(1 minute ago)"), (600, "(11 minutes ago)"), (3000, " ago)")):
        site.clock.advance(seconds)
        assert (shown in (await owner.get(path)).body) is (seconds != 3000)
    await owner.submit(path, "channel.pause")
    assert "Another program asks" not in (await owner.get(path)).body
    await owner.submit(path, "channel.remove", yes="1")
    assert await site.do("channel.list", bot=site.mine.bot) == []


async def test_an_owner_sets_whatsapp_and_reads_what_to_enter_where(site: Site, owner: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    path, where = f"/bots/{site.mine.bot}/channels", {"channel": "whatsapp"}
    page = await owner.get(path)
    assert "developers.facebook.com" in page.body
    assert f"/channels/whatsapp/{site.mine.bot}" in page.body
    secrets: dict[str, Any] = {"token": "a-token-of-mine", "app_secret": "a-secret-of-mine", "verify_token": "a-word-of-mine"}
    refused = await owner.submit(path, "channel.set", where=where, phone_number_id="+90 532", monthly_limit="ten", **secrets)
    assert (refused.status, "+90 532" in refused.body, "of-mine" in refused.body) == (422, True, False)
    refused = await owner.submit(path, "channel.set", where=where, phone_number_id="1055", monthly_limit="ten", **secrets)
    assert (refused.status, "a whole number" in refused.alert) == (422, True)
    monkeypatch.setattr(site.app.services.egress, "allowed", False)  # the token cannot be confirmed
    page = await owner.submit(path, "channel.set", where=where, phone_number_id="1055", monthly_limit="5000", **secrets)
    assert ("could not be reached" in page.body, "has not verified" in page.body, "of-mine" in page.body) == (True, True, False)
    (whatsapp,) = await site.do("channel.list", bot=site.mine.bot)
    assert (whatsapp.identity, whatsapp.settings["monthly_limit"]) == ("1055", 5000)
    await stored_channels.note_verified(site.app.services.db, whatsapp.id, site.clock.now)
    await platforms.reserve_send(site.app.services.db, site.mine.bot, times.month(site.clock.now), None)
    page = await owner.get(path)
    assert ("Callback verified" in page.body, "1 message sent this month. Your limit is 5,000." in page.text) == (True, True)
    assert "Beyond 1,000" in (await owner.get("/usage")).body
    # Empty secrets stay, and an empty limit is none.
    await owner.submit(path, "channel.set", where=where, phone_number_id="1056", monthly_limit="")
    (whatsapp,) = await site.do("channel.list", bot=site.mine.bot)
    assert (whatsapp.identity, whatsapp.settings) == ("1056", {"phone_number_id": "1056"})
    kept = (await site.app.services.channels.of_bot(site.mine.bot))["whatsapp"].secrets
    assert kept == secrets
