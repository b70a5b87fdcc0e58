"""Pages of keys, usage, webhooks, accounts and system: what they show, what their forms do, and to whom."""

import csv
import io
import re
from itertools import product
from pathlib import Path

import pytest

from chatsvc import translations
from chatsvc.dashboard import localization
from chatsvc.dashboard.pages import usage
from chatsvc.dashboard.wording import finding as worded
from chatsvc.doctor import Finding
from chatsvc.domain.captures import Captured
from chatsvc.domain.operators import LANGUAGES
from chatsvc.domain.times import DAY_MS, start_of_day
from chatsvc.services.operations import backups
from tests.dashboard.client import Client, text_of
from tests.dashboard.site import Site
from tests.findings import findings
from tests.store.inspection import execute, insert

BAR = "{http://www.w3.org/2000/svg}g"
UNKNOWN = "00000000-0000-4000-8000-000000000000"


async def test_a_key_is_created_shown_once_and_revoked(site: Site, owner: Client) -> None:
    (secret,) = (await owner.submit("/keys", "key.create", name="Kasa <b>", expires="2027-01-31")).secrets()
    assert re.fullmatch(r"csk_[0-9A-Za-z]{38}", secret)
    assert (await owner.get("/shown")).status == 410
    listed = await owner.get("/keys")
    assert (listed.has("Kasa <b>", "31 January 2027"), secret in listed.body) == (True, False)
    (key,) = [entry.key.id for entry in (await site.do("key.list", account=site.mine.account)).items if entry.key.label == "Kasa <b>"]
    assert (await owner.submit("/keys", "key.revoke", where={"id": key})).refuses()
    done = await owner.submit("/keys", "key.revoke", where={"id": key}, yes="1")
    assert (done.status, done.path) == (200, "/keys?done=saved")
    assert [form for form in done.forms("key.revoke") if ("id", key) in done.values(form)] == []


async def test_a_refused_key_keeps_what_was_typed(site: Site, owner: Client) -> None:
    answer = await owner.submit("/keys", "key.create", name="till", expires="2020-01-01")
    assert answer.refuses()
    assert answer.filled("key.create") == {"account": site.mine.account, "name": "till", "expires": "2020-01-01"}


async def test_usage_agrees_with_the_interface_and_the_csv_file(site: Site, owner: Client, editor: Client, reader: Client) -> None:
    for day, channel in product(range(3), ("web", "telegram")):
        await site.write("counted", channel=channel, later_ms=-day * DAY_MS, tokens=1000 + day, cost_micro_usd=4_200)
    await site.do("bot.set", bot=site.mine.bot, name='=HYPERLINK("x")')
    summary = await site.do("usage", account=site.mine.account, days=7)
    shown = await owner.get("/usage?days=7")
    assert [text_of(row).split()[0] for row in shown.tree.iter("tr") if row.get("data-today") is not None] == ["20"]
    assert [bar.get("class") for bar in shown.tree.iter(BAR)] == ([None] * 6 + ["unfinished"]) * 4
    assert "Web widget" in shown.text
    assert [" of the allowance" in (await client.get("/usage")).text for client in (owner, editor, reader)] == [True, False, False]
    file = await owner.get("/usage.csv?days=7")
    assert file.headers["Content-Disposition"] == 'attachment; filename="usage-2026-11-14-2026-11-20.csv"'
    assert file.body.startswith("\ufeffdate,")
    lines = list(csv.DictReader(io.StringIO(file.body.removeprefix("\ufeff"))))
    assert sum(int(line["answered"]) for line in lines) == summary.total.messages == 9
    assert sum(int(line["tokens"]) for line in lines) == summary.total.tokens
    assert sum(round(float(line["cost_usd"]) * 1_000_000) for line in lines) == summary.total.cost_micro_usd
    assert {line["bot"] for line in lines} == {'\'=HYPERLINK("x")'}
    assert [line["date"] for line in lines] == [f"2026-11-{day}" for day in range(14, 21)]
    for odd in ("0", "91", "x", "٣", ""):
        assert len(list((await owner.get("/usage", params={"days": odd})).tree.iter(BAR))) == 120
    await site.do("bot.set", bot=site.mine.bot, name="Harbour Cycles bot")


async def test_usage_says_what_the_bots_did_beside_the_days_before(site: Site, owner: Client) -> None:
    bot, entry, columns, today = site.mine.bot, site.mine.ids["entry"], "bot_id, name, day, item, times", start_of_day(site.clock())
    for visitor, days, used in (("earlier 0", 40, entry), ("earlier 1", 40, entry), ("earlier 0", 35, None)):
        await site.write(visitor, later_ms=-days * DAY_MS, entry=used)
    operators = {operator.email: operator.id for operator in (await site.do("operator.list")).items}
    rows = [
        (bot, "response_s", today, seconds, times)
        for seconds, times in ((f"30 {operators[site.email('owner')]}", 1), ("120", 8), ("7200", 1))
    ]
    rows.append((bot, "response_s", today, f"45 {operators[site.email('administrator')]}", 1))  # without a role in the account
    await insert(site.app, "day_counts", columns, [*rows, (bot, "up", today, "", 3)])
    report = await site.do("usage.quality", account=site.mine.account)
    answered = sum(report.of_day(day).answered for day in report.days)
    shown = await owner.get("/usage?days=30")
    assert shown.has(f"Answered {answered}", "3 in the 30 days before", "Team’s first reply 2 minutes 9 in 10 within 2 minutes")
    assert shown.has(
        "Thumbs up 3 0 down",
        "Half within9 in 10 within",
        "Owner130 seconds30 seconds",
        "145 seconds45 seconds",
        "Most used entries of the last 30 days",
    )
    assert f'href="/bots/{bot}/unanswered"' in shown.body
    requests = sum(report.of_day(day).requests for day in report.days)
    assert shown.has(f"Requests {requests} appointments included", "AppointmentsOther requests")
    assert re.search(rf'href="/inbox\?bot={bot}">Requests<', shown.body)  # which lists both
    none = "Most used entries of the last {} days No entry answered a question in these days"
    assert (await owner.get("/usage?days=90")).has(none.format(30))
    await insert(site.app, "day_counts", columns, [(bot, "entry", today - 29 * DAY_MS, entry, 4)])
    listed = (await owner.get("/usage?days=90")).body.partition('class="ranked"')[2]
    assert f"/bots/{bot}/knowledge/{entry}" in listed.partition("</ol>")[0]
    assert (await owner.get("/usage?days=7")).has(none.format(7))
    of_day = [sum(int(line[name]) for line in await csv_of(owner, "/usage.csv?days=90")) for name in ("answered", "up")]
    assert of_day == [answered + 3, 3]
    assert (await owner.get(f"/usage?bot={UNKNOWN}")).status == 404
    assert (await owner.get(f"/usage.csv?bot={site.other.bot}")).status == 404


async def test_lists_are_downloaded_with_the_filters_of_their_pages(site: Site, owner: Client) -> None:
    await site.do("bot.set", bot=site.mine.bot, country="TR")
    await site.say(site.mine, "Call me, Ali Can, +905321234567", "phoned", Captured("contact", "Call me", "Ali Can", None, "+905321234567"))
    inbox = await csv_of(owner, "/inbox.csv")
    assert [line["Phone"] for line in inbox if line["Name"] == "Ali Can"] == ["0532 123 45 67"]
    assert list(inbox[0])[:5] == ["Received", "Kind", "Status", "Day", "Time"]
    shown = (await site.do("inbox.list", bot=site.mine.bot)).items
    assert {line["ID"] for line in inbox if line["Bot"] == "Harbour Cycles bot"} == {item.request.id for item in shown}
    (first,) = [item for item in shown if item.request.id == inbox[0]["ID"]]
    assert (inbox[0]["Name"], inbox[0]["Message"]) == (first.request.visitor_name or "", first.request.message)
    appointments = await csv_of(owner, "/inbox.csv?kind=appointment")
    assert appointments == [line for line in inbox if line["Kind"] == "Appointment"] != inbox
    assert (await owner.get("/inbox.csv?status=x")).status == 422
    turkish = (await (await site.client("owner", "tr")).get("/inbox.csv")).body
    assert turkish.startswith("\ufeffAlınma zamanı;Tür;Durum;Gün;Saat;")
    conversations = await csv_of(owner, "/conversations.csv?q=bicycle")
    assert {line["ID"] for line in conversations} == {
        row.conversation.id for row in (await site.do("conversation.rows", bot=site.mine.bot, q="bicycle")).items
    }
    acts = [act.operation for act in (await site.do("audit", account=site.mine.account)).items]
    assert {"inbox.export", "conversation.export_rows"} <= set(acts)


async def csv_of(client: Client, path: str) -> list[dict[str, str]]:
    """The lines of a CSV file."""
    return list(csv.DictReader(io.StringIO((await client.get(path)).body.removeprefix("\ufeff"))))


def test_stacked_bars_stand_on_each_other_and_are_measured_against_a_round_number() -> None:
    chart = usage.chart("talks", ["one", "two", "three"], [0, 1], [(5, 0, 5), (0, 0, 0)], ["a", "b"])
    assert (chart.top, chart.width, chart.totals) == (10, 20, [5, 0, 5])
    assert chart.bars == [("a", [("one", "M1.5 100v-50h7v50z"), ("three", "M1.5 50v-50h7v50z")]), ("b", [])]
    # Half of the edge of a chart of counts is a number too.
    for key, highest, top in (("talks", 1, 2), ("talks", 12, 16), ("talks", 18, 20), ("cost", 12, 15)):
        assert usage.chart(key, ["one"], [0], [(highest,)], ["a"]).top == top
    assert [usage.ceiling(value) for value in (0, 0.4, 1, 3, 11, 25, 26, 999, 1000)] == [1, 1, 1, 3, 15, 25, 30, 1000, 1000]


async def test_a_webhook_is_set_tested_rotated_and_removed(site: Site, owner: Client) -> None:
    path = f"/bots/{site.mine.bot}/webhook"
    assert (await owner.submit(path, "webhook.remove", yes="1")).path == f"{path}?done=removed"
    refused = await owner.submit(path, "webhook.set", url="http://example.com", event=["appointment.created"], pull=None)
    assert refused.refuses("This address cannot be used: it must begin with https://")
    assert refused.filled("webhook.set") == {"bot": site.mine.bot, "url": "http://example.com", "event": "appointment.created"}
    (first,) = (await owner.submit(path, "webhook.set", url="", event=["request.created"], pull="1")).secrets()
    assert first.startswith("whsec_")
    shown = await owner.get(path)
    assert (first in shown.body, shown.forms("webhook.test")) == (False, [])
    saved = await owner.submit(path, "webhook.set", event=["request.created", "appointment.created"])
    assert (saved.path, saved.secrets()) == (f"{path}?done=saved", [])
    unsure = await owner.submit(path, "webhook.rotate")
    assert (unsure.status, "fail" in unsure.text) == (422, True)
    (second,) = (await owner.submit(path, "webhook.rotate", yes="1")).secrets()
    assert second != first
    assert (await owner.submit(path, "webhook.set", event=None)).refuses("at least one event")
    rules = {
        "not_https": "http://example.com",
        "with_login": "https://user:secret@example.com",
        "port": "https://example.com:22",
        "not_public": "https://10.0.0.1/",
        "own": "https://localhost/",
        "unknown": "https://nowhere.invalid.example/",
        "malformed": "https://exa mple.com",
    }
    for rule, url in rules.items():
        answer = await owner.submit(path, "webhook.set", url=url, event=["request.created"], pull=None)
        assert answer.refuses(localization.text("en", f"targets.{rule}")), rule
    assert {key.removeprefix("targets.") for key in translations.texts() if key.startswith("targets.")} == rules.keys()


HOSTILE = "</pre><script>alert(1)</script>"


async def attempts(site: Site, count: int, first: int = 0, **values: object) -> list[str]:
    """Write attempts as deliveries would have left them; their ids, newest first."""
    await site.do("webhook.set", bot=site.mine.bot, url=None, events=["request.created", "appointment.created"])
    ((event,),) = await execute(site.app, "SELECT max(number) FROM webhook_events WHERE bot_id = :1", site.mine.bot)
    row = {
        "event_number": event,
        "bot_id": site.mine.bot,
        "url": "https://example.com/hook",
        "body": b'{"event":"request.created","data":{"message":"' + HOSTILE.encode() + b'"}}',
        "at": site.clock(),
        "success": 0,
        "status_code": 500,
        "error": "http_status",
        "duration_ms": 1234,
        "signature": "sha256=" + "ab" * 32,
        "answer": HOSTILE.encode(),
        **values,
    }
    ids = [f"00000000-0000-7000-8000-{number:06d}{event:06d}" for number in range(first, first + count)]
    rows = [(id_, f"{id_[:-1]}f", *row.values()) for id_ in ids]
    await insert(site.app, "webhook_attempts", f"id, delivery_id, {', '.join(row)}", rows)
    return ids[::-1]


async def test_attempts_are_filtered_paged_and_shown_with_request_and_answer(site: Site, owner: Client) -> None:
    newest, *_ = records = await attempts(site, 60)
    first = await owner.get(f"/webhooks?status=failed&bot={site.mine.bot}")
    assert first.records() == records[:50]
    second = await owner.get(first.links("next")[0])
    assert (second.records(), second.links("next")) == (records[50:], [])
    assert (await owner.get("/webhooks?status=delivered")).records() == []
    assert (await owner.get("/webhooks?event=webhook.test&status=odd")).records() == []
    assert (await owner.get(f"/webhooks?bot={site.other.bot}")).status == 404
    shown = await owner.get(f"/webhooks/{newest}")
    assert shown.has("X-Service-Signature: sha256=" + "ab" * 32, "Status 500", "1,234 ms")
    assert (shown.text.count(HOSTILE), "<script>alert" in shown.body) == (3, False)
    other = await site.client("administrator")
    await other.get(f"/?account={site.other.account}")
    assert (await other.get("/webhooks")).records() == []
    again = await owner.submit(f"/webhooks/{newest}", "webhook.resend")
    assert again.path.startswith("/webhooks/")
    assert again.has("the webhook was removed", "No request was made")
    left = await owner.submit("/webhooks", "webhook.resend_failed", failed_since="2026-11-20T00:00")
    assert left.has("1 event was sent again.")
    assert (await owner.submit("/webhooks", "webhook.resend_failed", failed_since="yesterday")).refuses(kept="yesterday")


async def test_what_was_not_sent_is_said(site: Site, owner: Client) -> None:
    values = {"status_code": None, "error": "dns_failed", "answer": None, "signature": None}
    (unsent,) = await attempts(site, 1, first=900, **values)
    shown = await owner.get(f"/webhooks/{unsent}")
    assert shown.has("prepared and not sent", "headers of this attempt were not kept", "No answer came", "name of the host cannot be found")


async def test_accounts_are_created_found_changed_and_deleted(site: Site, administrator: Client) -> None:
    created = await administrator.submit("/accounts", "account.create", name="Çınar Diş Kliniği", plan="starter")
    assert (created.status, created.path.endswith("?done=created")) == (200, True)
    (account,) = created.records()
    for q, records in (("cinar dis", [account]), ("ÇINAR", [account]), (account, [account]), ("nothing like it", [])):
        assert (await administrator.get("/accounts", params={"q": q})).records() == records, q
    assert (await administrator.submit("/accounts", "account.create", name=" ")).refuses()
    path = f"/accounts/{account}"
    changed = await administrator.submit(path, "account.set", plan="business", status="trialing", credits="50")
    assert changed.path == f"{path}?done=saved"
    shown = (await site.do("account.show", account=account)).account
    assert (shown.plan, shown.messages_limit, shown.message_credits, shown.subscription_status) == ("business", 10_000, 50, "trialing")
    await administrator.submit(path, "account.set", name="Çınar Grup")
    assert (await site.do("account.show", account=account)).account.name == "Çınar Grup"
    for wrong in ("-1", "many", "1e9", "9" * 16):
        assert (await administrator.submit(path, "account.set", messages_limit=wrong)).refuses(kept=wrong), wrong
    assert (await administrator.submit(path, "account.set", name=" ")).refuses()
    assert (await administrator.submit(path, "account.set")).refuses()
    assert (await administrator.submit(path, "account.delete")).refuses()
    gone = await administrator.submit(path, "account.delete", yes="1")
    assert (gone.status, gone.path) == (200, "/accounts?done=removed")
    assert (await administrator.get(path)).status == 404


async def test_the_system_page_examines_and_backs_up(site: Site, administrator: Client, tmp_path: Path) -> None:
    assert (await administrator.submit("/system", "doctor.run")).has("Last checked")
    key = site.app.config.data_dir / "master.key"
    key.chmod(0o644)
    shown = await administrator.submit("/system", "doctor.run")
    key.chmod(0o600)
    assert shown.has(f"Others may read {key}.", f"chmod 600 {key}")
    answer = await administrator.submit("/system", "backup.create", with_master_key="1")
    (name,) = answer.records()
    link = next(address for address in answer.links() if address.endswith(name))
    file = await administrator.session.get(administrator.app.url + link)
    content = await file.read()
    assert file.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    copy = tmp_path / name
    copy.write_bytes(content)
    with copy.open("rb") as source:
        assert backups.verify(source, "").faults == []
    assert (await administrator.get("/system/backups/nothing")).status == 404
    assert (await administrator.get("/system/backups/..%2Fmaster.key")).status in (400, 404)
    assert (await administrator.get("/system/licenses")).has("aiohttp")


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_finding_is_worded(language: str) -> None:
    for finding in findings().values():
        words = worded(language, finding)
        assert words["sentence"]
        assert (words["remedy"] is None) == (finding.state == "ok")
    lists = worded(language, Finding.fault("database", "database_damaged", file="x", problems=["a", "b"]))
    assert "a, b" in lists["sentence"]
    assert "8080" in worded(language, Finding.warning("public_url", "public_url_port", url="x", port=8080))["sentence"]
    assert "model 3" in worded(language, Finding.ok("egress", "egress_opened", counts={"model": 3}))["sentence"]
