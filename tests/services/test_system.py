"""The administrator's system operations inside the running service: examination, backups, metrics, licences."""

import asyncio
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from chatsvc import translations
from chatsvc.app import App
from chatsvc.cli.doctor import worded
from chatsvc.config import load
from chatsvc.doctor import OK, Finding
from chatsvc.domain.refusals import Refused
from chatsvc.domain.tallies import Histogram
from chatsvc.services.administration import perform
from chatsvc.services.operations import backups, doctor
from chatsvc.services.operations.doctor import ExaminationCache
from tests.conftest import Caller
from tests.fakes import ADMIN, FakeClock
from tests.findings import findings
from tests.webhooks.support import eventually


async def done(app: App, name: str, **arguments: Any) -> Any:
    return await perform(app.services, ADMIN, name, arguments)


def codes(examination: doctor.Examination) -> set[str]:
    return {finding.code for finding in examination.findings}


FINDINGS = findings()


@pytest.mark.parametrize("code", FINDINGS)
def test_each_finding_has_a_sentence_and_all_but_good_ones_a_remedy(code: str) -> None:
    finding, remedy = worded(FINDINGS[code])
    assert finding
    assert bool(remedy) == (FINDINGS[code].state != OK)


def test_there_is_no_sentence_without_its_finding() -> None:
    written = [key.partition("_") for key in translations.section("doctor")]
    assert {code for kind, _, code in written if kind == "found"} == FINDINGS.keys()
    assert {code for kind, _, code in written if kind == "remedy" and code} == {code for code, row in FINDINGS.items() if row.state != OK}


@pytest.mark.sqlite
async def test_the_running_service_examines_itself(app: App) -> None:
    examination = await done(app, "doctor.run")
    assert codes(examination) >= {"database_good", "master_key_good", "service_running", "egress_opened"}
    assert examination.faults == []
    (app.config.data_dir / "master.key").chmod(0o644)
    examination = await done(app, "doctor.run")
    assert [fault.code for fault in examination.faults] == ["master_key_exposed"]
    assert examination.faults[0].facts == {"file": str(app.config.data_dir / "master.key")}


async def test_the_latest_examination_is_cached_and_renewed_once_it_is_old(app: App, clock: FakeClock) -> None:
    assert await done(app, "doctor.show") is None

    async def is_there() -> bool:
        return await done(app, "doctor.show") is not None

    await eventually(is_there)
    first = await done(app, "doctor.show")
    assert first == await done(app, "doctor.show")
    (app.config.data_dir / "master.key").chmod(0o644)
    # A fault that a partial examination cannot find stays until the next whole one.
    damaged = Finding.fault("database", "database_damaged", file="x", problems=["y"])
    app.services.part(ExaminationCache).latest = first._replace(findings=[*first.findings, damaged])
    clock.advance(301)

    async def is_renewed() -> bool:
        return {fault.code for fault in (await done(app, "doctor.show")).faults} == {"master_key_exposed", "database_damaged"}

    await eventually(is_renewed)
    assert {fault.code for fault in (await done(app, "doctor.run")).faults} == {"master_key_exposed"}


async def test_an_examination_that_hangs_ends_in_time_with_what_it_found(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = threading.Event()

    def hangs(*_: object) -> Iterator[Finding]:
        yield Finding.warning("configuration", "configuration_absent")
        blocked.wait(20)

    monkeypatch.setattr(doctor, "LIMIT_S", 1.0)
    monkeypatch.setattr(doctor, "examine", hangs)
    examination = await done(app, "doctor.run")
    blocked.set()
    assert [finding.code for finding in examination.findings] == ["configuration_absent", "examination_unfinished"]


async def test_a_configuration_that_was_broken_since_the_start_is_a_fault(app: App, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"data_dir: {app.config.data_dir}\n")
    app.services.config = replace(app.config, path=load(path).path)
    assert "configuration_invalid" not in codes(await done(app, "doctor.run"))
    path.write_text("colour: blue\n")
    (fault,) = (await done(app, "doctor.run")).faults
    assert fault.code == "configuration_invalid"
    assert "unknown setting colour" in str(fault.facts["fault"])


@pytest.mark.sqlite
async def test_a_big_database_is_checked_for_a_limited_time(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "DATABASE_S", 1e-9)
    monkeypatch.setattr("chatsvc.store.examination.STEPS", 1)
    assert "database_unchecked" in codes(await done(app, "doctor.run"))


async def test_a_backup_is_made_listed_read_and_valid(app: App, caller: Caller, clock: FakeClock) -> None:
    assert await done(app, "backup.list") == []
    await caller.send()
    first = await done(app, "backup.create", keep=True)
    clock.advance(1)
    second = await done(app, "backup.create", keep=True, with_master_key=True)
    listed = await done(app, "backup.list")
    assert [file.name for file in listed] == [second.draft.name, first.draft.name]
    assert [file.size for file in listed] == [second.size, first.size]
    pieces = await done(app, "backup.read", backup=listed[0].name)
    verified = backups.verify(BytesIO(b"".join([piece async for piece in pieces])), "copy")
    assert (verified.faults, verified.counts["messages"]) == ([], 2)
    audited = [(record.operation, record.outcome, record.times) for record in (await done(app, "audit")).items]
    assert audited[:2] == [("backup.read", "done", 1), ("backup.create", "done", 2)]
    for odd in ("../master.key", "chatsvc-.backup", "", f"./{listed[0].name}", "chatsvc.db"):
        with pytest.raises(Refused, match="backup_not_found"):
            await done(app, "backup.read", backup=odd)


async def test_a_folder_of_backups_that_cannot_be_used_is_told(app: App) -> None:
    app.config.backup.folder.write_text("")
    with pytest.raises(Refused, match="backup_folder_unusable"):
        await done(app, "backup.create", keep=True)


async def test_the_metrics_sum_up_requests_and_replies(app: App, caller: Caller, clock: FakeClock) -> None:
    before = await done(app, "metrics.show")
    assert (before.requests, before.messages, before.median_s) == ({}, 0, None)
    for _ in range(3):
        await caller.send()
    await caller.get("/nothing")
    await asyncio.sleep(0)
    summary = await done(app, "metrics.show")
    assert summary.requests == {2: 3, 4: 1}
    assert (summary.messages, summary.replies, summary.started_at) == (3, {"ok": 3}, clock.now)
    assert 0 < summary.median_s <= summary.slow_s
    assert (summary.outstanding.pending, summary.deliveries) == (0, {"delivered": 0})


def test_quantiles_lie_within_the_bucket_of_the_value() -> None:
    histogram = Histogram((1, 2, 4))
    assert histogram.quantile(0.5) is None
    for value in (0.5, 1.5, 1.5, 3, 3, 3, 3, 3, 3, 100):
        histogram.note(value)
    assert [histogram.quantile(part) for part in (0.1, 0.3, 0.6, 0.9, 0.99)] == [1, 2, 3, 4, 4]


async def test_version_place_and_size_are_shown(app: App, clock: FakeClock) -> None:
    shown = await done(app, "system.show")
    assert re.fullmatch(r"[0-9.]+", shown.python)
    assert (shown.data_dir, shown.started_at) == (app.config.data_dir, clock.now)
    assert shown.database > 4096
    assert 10 << 20 < shown.memory < 4 << 30


async def test_licences_of_all_that_is_needed_are_listed(app: App) -> None:
    by_name = {package.name.lower(): package for package in await done(app, "license.list")}
    assert {"aiohttp", "click", "cryptography"} <= by_name.keys()
    assert "chatsvc" not in by_name
    assert all(package.version and package.text for name, package in by_name.items() if name in ("aiohttp", "click"))
