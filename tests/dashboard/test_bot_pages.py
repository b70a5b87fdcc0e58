"""Pages of bots: list, create, settings, sentences, forms, file."""

import re
from typing import Any

import phonenumbers
import pytest

from chatsvc import translations
from chatsvc.domain import profiles, times
from chatsvc.domain.models import Bot
from chatsvc.domain.opening_hours import DAYS
from chatsvc.domain.profiles import Profile
from chatsvc.language.catalogue import own_greeting
from chatsvc.services.accounts import bot_files
from chatsvc.store import channels as stored_channels
from chatsvc.store import platforms
from tests.dashboard.client import Client, encoded
from tests.dashboard.site import Site
from tests.tables import json_rows


async def bot_of(site: Site) -> Bot:
    bot: Bot = await site.do("bot.show", bot=site.mine.bot)
    return bot


async def profile_of(site: Site) -> Profile:
    return profiles.load((await bot_of(site)).profile)


async def test_an_owner_creates_a_bot_and_teaches_it_next(site: Site, owner: Client) -> None:
    assert (await owner.get("/bots")).records() == [site.mine.bot]
    refused = await owner.submit("/bots", "bot.create", name="Second desk", timezone="Mars", description="Evenings")
    assert refused.refuses("“Mars” is not a time zone", kept="Evenings")
    page = await owner.submit("/bots", "bot.create", name="Second desk", model="offline", language="en")
    bot = page.path.split("/")[2]
    assert (page.path, page.has("knows nothing yet")) == (f"/bots/{bot}/knowledge?done=bot_created", True)
    assert {f"/bots/{bot}", f"/bots/{bot}/try", f"/bots/{bot}/channels"} <= set(page.links())
    assert (await site.do("bot.show", bot=bot)).model == "offline"
    assert (await owner.submit(f"/bots/{bot}", "bot.delete")).refuses("This cannot be undone. Please confirm it.")
    page = await owner.submit(f"/bots/{bot}", "bot.delete", yes="1")
    assert (page.path, page.records()) == ("/bots?done=removed", [site.mine.bot])


async def test_languages_and_countries_are_chosen_by_name(site: Site, owner: Client) -> None:
    here, german = f"/bots/{site.mine.bot}", '<option value="DE" selected>Germany</option>'
    await site.do("bot.set", bot=site.mine.bot, language="gsw-CH", country="DE")
    page = await owner.get(here)
    for option in ('<option value="gsw-CH" selected>gsw-CH</option>', german, "<option>America/New_York</option>"):
        assert option in page.body
    names = re.findall(r">([^<]+)</option>", page.body)
    assert names[:3] == ["English", "Turkish", "Albanian"]
    assert names.index("Åland Islands") < names.index("Germany") < names.index("Zimbabwe")
    assert '<option value="DE" selected>Almanya</option>' in (await (await site.client("owner", "tr")).get(here)).body
    # A new bot is offered the place of another one.
    assert german in (await owner.get("/bots")).body
    await site.do("bot.set", bot=site.mine.bot, language="tr", country="TR")


def test_every_country_has_a_name() -> None:
    assert translations.section("countries").keys() == phonenumbers.SUPPORTED_REGIONS


async def set_piece(page: Client, site: Site, piece: str, **typed: Any) -> Any:
    """Fill in the form of one piece of the settings."""
    return await page.submit(f"/bots/{site.mine.bot}", "bot.set", where={"piece": piece}, **typed)


async def test_settings_are_changed_in_pieces_and_what_was_typed_is_kept(site: Site, owner: Client) -> None:
    page = await set_piece(owner, site, "hours", hours_mon="9-18", hours_sat="10-12, 13-15.30")
    assert page.has("Saved.", "Times are in Europe/Istanbul.")
    assert (await bot_of(site)).opening_hours == "mon 09:00-18:00; sat 10:00-12:00; sat 13:00-15:30"
    shown = page.filled("bot.set", piece="hours")
    assert [shown[f"hours_{day}"] for day in ("mon", "tue", "sat")] == ["09:00-18:00", "", "10:00-12:00, 13:00-15:30"]
    greetings = {"greeting": "Hoş geldiniz!", "en": "Welcome to {name}!", "form_of_address": "familiar"}
    await set_piece(owner, site, "voice", suggestion=["Where are you?", "", " How much is it? ", ""], **greetings)
    profile, bot = await profile_of(site), await bot_of(site)
    assert (profile.suggestions, profile.form_of_address) == (("Where are you?", "How much is it?"), "familiar")
    expected = ["Hoş geldiniz!", f"Welcome to {bot.name}!", "Hoş geldiniz!"]
    assert [own_greeting(bot, language) for language in ("tr", "en", "de")] == expected
    page = await set_piece(owner, site, "voice", suggestion=["", "x" * 81], en="Ahoy {nobody}", greeting="x" * 1001)
    assert (page.faults().keys(), "x" * 81 in page.body) == ({"", "en", "greeting"}, True)
    assert "Suggested questions › 1: expected at most 80 characters" in page.faults()[""]
    page = await set_piece(owner, site, "general", name="", timezone="Mars", country="XX", description="kept")
    assert page.faults() == {
        "name": "Name of the bot: please fill in this field.",
        "timezone": "“Mars” is not a time zone. Example: Europe/Istanbul.",
        "country": "“XX” is not a country. Write two letters, such as TR.",
    }
    assert page.refuses(*page.faults().values(), kept="kept")
    page = await set_piece(owner, site, "hours", hours_mon="9-12", hours_tue="9 to never", hours_sun="18-17:30")
    assert page.refuses("The opening hours cannot be read: write the hours of Tuesday, Sunday like")
    assert page.faults().keys() == {"hours_tue", "hours_sun"}
    shown = page.filled("bot.set", piece="hours")
    assert [shown[name] for name in ("hours_mon", "hours_tue", "hours_sun")] == ["9-12", "9 to never", "18-17:30"]
    assert (await bot_of(site)).opening_hours == bot.opening_hours
    await owner.post(f"/bots/{bot.id}", {"hours_sat": ""})
    assert (await bot_of(site)).opening_hours == "mon 09:00-18:00"


@pytest.mark.parametrize(("piece", "good", "stored", "bad"), json_rows("dashboard/settings"))
async def test_a_setting_is_checked_and_stored(
    site: Site, owner: Client, piece: str, good: dict[str, str], stored: dict[str, object], bad: dict[str, str]
) -> None:
    if bad:
        refused = await set_piece(owner, site, piece, **bad)
        assert (refused.status, refused.faults().keys()) == (422, bad.keys())
    await set_piece(owner, site, piece, **good)
    bot = await bot_of(site)
    assert {name: getattr(bot, name) for name in stored} == stored


def days(first: str, last: str = "", note: str = "") -> dict[str, Any]:
    """Fields of the form that adds closed days."""
    return {"from": first, "to": last, "note": note}


async def test_closed_days_have_a_name_and_are_added_and_removed_one_by_one(site: Site, editor: Client) -> None:
    here = f"/bots/{site.mine.bot}"
    page = await editor.submit(here, "closed.add", **days("2027-03-09", "2027-03-11", "Ramazan Bayramı"))
    assert page.has("Saved.", "9 March 2027 – 11 March 2027 Ramazan Bayramı")
    await editor.submit(here, "closed.add", **days("2026-12-31"))
    turkish = await (await site.client("reader", "tr")).get(here)
    assert turkish.has("31 Aralık 2026 9 Mart 2027 – 11 Mart 2027 Ramazan Bayramı")
    assert "Ramazan Bayramı" in (await editor.get(f"{here}/bot.yaml")).body
    assert [str(span) for span in (await profile_of(site)).closed] == ["2026-12-31", "2027-03-09..2027-03-11 Ramazan Bayramı"]
    for last, note, words in (("2027-03-08", "kept", "a day such as 2026-12-31"), ("", "x" * 81, "at most 80 characters")):
        page = await editor.submit(here, "closed.add", **days("2027-03-09", last, note))
        assert page.refuses(f"Closed days › 1: expected {words}", kept=note)
    await editor.submit(here, "closed.add", **days("2027-03-09", "2027-03-12"))
    assert [str(span) for span in (await profile_of(site)).closed] == ["2026-12-31", "2027-03-09..2027-03-12"]
    for _ in range(2):
        assert (await editor.post(f"{here}/closed/remove", {"from": "2026-12-31"})).status == 200
    assert [str(span) for span in (await profile_of(site)).closed] == ["2027-03-09..2027-03-12"]
    await editor.submit(here, "closed.remove")
    assert (await editor.get(here)).has("No closed days yet.")


async def test_an_editor_changes_words_and_hours_alone_and_a_reader_nothing(site: Site, editor: Client, reader: Client) -> None:
    here = f"/bots/{site.mine.bot}"
    page = await editor.get(here)
    names = {name for form in page.forms("bot.set") for name, _ in page.values(form)}
    hours = {f"hours_{day}" for day in DAYS}
    assert names == {"id", "piece", "version", "greeting", "en", "description", "instructions", "form_of_address", "suggestion"} | hours
    assert (await editor.submit(here, "bot.set", description="By the sea")).has("Saved.")
    assert (await editor.post(here, {"name": "mine now"})).status == 403
    page = await reader.get(here)
    assert (page.forms("bot.set"), page.has("By the sea")) == ([], True)


async def test_a_bot_is_switched_off_and_on(site: Site, owner: Client) -> None:
    here = f"/bots/{site.mine.bot}"
    assert (await owner.submit(here, "bot.deactivate")).has("The bot is off.")
    assert not (await bot_of(site)).active
    assert "visitors get no answer at the moment" in (await owner.get(f"{here}/try")).text
    await owner.submit(here, "bot.activate")
    assert (await bot_of(site)).active


def test_forty_sentences_are_in_sight_by_their_place_in_the_talk_with_examples_that_belong_to_one() -> None:
    names = {sentence.name.replace("?", "").replace(".", "_") for sentence in bot_files.default_sentences()}
    keys = translations.section("bot_texts")
    places = {key.removeprefix("at_") for key in keys if key.startswith("at_")}
    assert (len(places) <= 40, places - names) == (True, set())
    examples = [key.removeprefix("said_") for key in keys if key.startswith("said_")]
    assert [example for example in examples if not any(f"{name}_".startswith(f"{example}_") for name in names)] == []


async def test_sentences_are_found_reworded_and_restored(site: Site, editor: Client, reader: Client) -> None:
    here = f"/bots/{site.mine.bot}/texts"
    assert len((await reader.get(here)).records()) > 100
    assert "done" in (await reader.get(f"{here}?q=DONE")).records()
    page = await reader.get(f"{here}?q=nobody+is+there")
    assert (page.records(), page.has("When nobody is there", "I want to talk to a person")) == (["handoff.away"], True)
    assert (await reader.get(f"{here}?q=nothing-like-it")).records() == []
    assert (await editor.submit(f"{here}/smalltalk.greeting", "bot.set", en="Ahoy, {name} here!")).has("Saved.")
    assert (await profile_of(site)).texts["smalltalk.greeting"] == {"en": "Ahoy, {name} here!"}
    page = await editor.get(f"{here}?status=own")
    assert page.records() == ["smalltalk.greeting"]
    assert "Hello! Ahoy, {name} here! my own wording" in page.text
    assert 'placeholder="Hello, I&#39;m {name}. How can I help you?"' in (await editor.get(f"{here}/smalltalk.greeting")).body
    page = await editor.submit(f"{here}/smalltalk.greeting", "bot.set", en="Ahoy, {nobody}!")
    assert page.refuses("the placeholders of this sentence are {name}", kept="Ahoy, {nobody}!")
    assert page.faults().keys() == {"en"}
    await editor.submit(f"{here}/smalltalk.greeting", "bot.set", en="")
    assert "smalltalk.greeting" not in (await profile_of(site)).texts
    assert (await editor.get(f"{here}/nothing")).status == 404


async def test_a_form_gets_fields_and_an_appointment_its_kind(site: Site, editor: Client) -> None:
    here = f"/bots/{site.mine.bot}/forms"
    room: dict[str, Any] = {"is": "nights", "name_0": "Room", "kind_0": "choice", "choices_0": "sea, garden", "ask_en_0": "Which room?"}
    page = await editor.submit(f"{here}/appointment", "bot.set", **room)
    assert page.has("Saved.", "How many nights would you like to stay? … Could you briefly")
    assert ("Which room? (sea / garden)" in page.text, page.body.count('class="chip"')) == (True, 2)
    assert "Also asks for: Room" in (await editor.get(f"/bots/{site.mine.bot}")).text
    form = (await profile_of(site)).form("appointment")
    assert (form.appointment, form.fields[0].choices, form.fields[0].required) == ("nights", ("sea", "garden"), True)
    page = await editor.submit(f"{here}/quote", "bot.set", name_0="Colour", kind_0="choice")
    assert page.refuses("Forms › quote › fields › 1: choices belong to a field of kind choice", kept="Colour")
    assert page.faults().keys() == {"name_0"}
    # The buttons of rows change what is shown, and save nothing.
    page = await editor.submit(f"{here}/appointment", "bot.set", do="add")
    assert page.has("Not saved yet.")
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
    lines = ["".join(element.itertext()) for element in shown.tree.iter() if element.tag in ("del", "ins")]
    assert ([line[0] for line in lines], lines[1]) == (["-", "+"], '+description: "From a file"')
    assert (await bot_of(site)).description != "From a file"
    (form,) = shown.forms("bot.apply")
    page = await owner.post(f"{here}/file", encoded(form, shown.values(form)))
    assert page.path == f"{here}?done=saved"
    assert (await bot_of(site)).description == "From a file"
    again = await owner.submit(f"{here}/file", "bot.apply", text="description: From a file")
    assert ("The file changes nothing." in again.text, again.forms("bot.apply")) == (True, [])
    assert (await owner.submit(f"{here}/file", "bot.apply", text="closed: [soon]\nnam: x\n")).refuses(
        "bot.yaml:1:10: expected a day", kept="nam: x"
    )
    page = await owner.submit(f"{here}/file", "bot.apply", file=("bot.yaml", "description: ğ\n".encode("utf-16")))
    assert "bot.yaml: the file is not UTF-8" in page.alert


async def test_an_owner_sets_pauses_and_removes_the_widget(site: Site, owner: Client, editor: Client) -> None:
    path = f"/bots/{site.mine.bot}/channels"
    refused = await owner.submit(path, "channel.set", site=["ftp://shop.example.com"], title="Ask us", color="red", privacy_url="x.test")
    assert refused.refuses("ftp://shop.example.com", kept="Ask us")
    assert refused.faults().keys() == {"site", "color"}
    page = await owner.submit(path, "channel.set", site=["shop.example.com\nhttp://localhost:8080"], color="#336699")
    for part in ("&lt;script src=", "data-color=&#34;#336699&#34;", 'fill="#336699"'):
        assert part in page.body
    (web,) = await site.do("channel.list", bot=site.mine.bot)
    assert web.sites == ["https://shop.example.com", "http://localhost:8080"]
    await stored_channels.update(site.app.services.db, web.id, {"refused_site": "https://blog.example.com", "refused_at": site.clock()})
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
    assert [channel.state for channel in await site.do("channel.list", bot=site.mine.bot)] == ["paused"]
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
    assert ("could not be reached" in page.body, "123:a-token" in page.body) == (True, False)
    (telegram,) = await site.do("channel.list", bot=site.mine.bot)
    assert (telegram.identity, telegram.state) == ("123", "active")
    await site.app.services.channels.note_fault(telegram, "token_elsewhere")
    await stored_channels.update(site.app.services.db, telegram.id, {"seen_at": site.clock.now})
    assert (await owner.get(path)).has("Another program asks", "Last message", "(just now)")
    for seconds, shown in ((90, "(1 minute ago)"), (600, "(11 minutes ago)"), (3000, " ago)")):
        site.clock.advance(seconds)
        assert (shown in (await owner.get(path)).body) is (seconds != 3000)
    await owner.submit(path, "channel.pause")
    assert "Another program asks" not in (await owner.get(path)).body
    await owner.submit(path, "channel.remove", yes="1")
    assert await site.do("channel.list", bot=site.mine.bot) == []


async def test_an_owner_sets_whatsapp_and_reads_what_to_enter_where(site: Site, owner: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    path, secrets = f"/bots/{site.mine.bot}/channels", {name: f"{name}-of-mine" for name in ("token", "app_secret", "verify_token")}
    page = await owner.get(path)
    assert ("developers.facebook.com" in page.body, f"/channels/whatsapp/{site.mine.bot}" in page.body) == (True, True)

    async def put(number: str, limit: str, **more: Any) -> tuple[int, str]:
        typed = {"phone_number_id": number, "monthly_limit": limit, **more}
        page = await owner.submit(path, "channel.set", where={"channel": "whatsapp"}, **typed)
        assert "of-mine" not in page.body
        return page.status, page.body

    for number, words in (("+90 532", "+90 532"), ("1055", "a whole number")):
        status, body = await put(number, "ten", **secrets)
        assert (status, words in body) == (422, True)
    monkeypatch.setattr(site.app.services.egress, "allowed", False)  # the token cannot be confirmed
    _, body = await put("1055", "5000", **secrets)
    assert ("could not be reached" in body, "has not verified" in body) == (True, True)
    (whatsapp,) = await site.do("channel.list", bot=site.mine.bot)
    assert (whatsapp.identity, whatsapp.settings["monthly_limit"]) == ("1055", 5000)
    await stored_channels.update(site.app.services.db, whatsapp.id, {"verified_at": site.clock.now})
    await platforms.reserve_send(site.app.services.db, site.mine.bot, times.month(site.clock.now), None)
    assert (await owner.get(path)).has("Callback verified", "1 message sent this month. Your limit is 5,000.")
    assert "Beyond 1,000" in (await owner.get("/usage")).body
    # Empty secrets stay, and an empty limit is none.
    await put("1056", "")
    (whatsapp,) = await site.do("channel.list", bot=site.mine.bot)
    assert (whatsapp.identity, whatsapp.settings) == ("1056", {"phone_number_id": "1056"})
    assert (await site.app.services.channels.of_bot(site.mine.bot))["whatsapp"].secrets == secrets
