"""The installation for its administrator: its state, counters, outbound connections and audit log, its software, and its master key."""

import os
import platform
import re
import sys
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from chatsvc import __version__
from chatsvc.domain import paging, refusals
from chatsvc.domain.actors import AuditRecord, Caller
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.tallies import Histogram
from chatsvc.outbound.egress import Egress
from chatsvc.services.accounts import accounts
from chatsvc.services.accounts.accounts import instant_of
from chatsvc.services.services import Services
from chatsvc.store import audit as stored
from chatsvc.store import facts, sealing, webhooks
from chatsvc.store.database import LAST, StoreUnavailable
from chatsvc.store.master_key import MasterKey
from chatsvc.store.webhooks import Outstanding

MESSAGES = "POST /messages"


class SystemReport(NamedTuple):
    """Version, place and size of the installation. `database` and `memory` are in bytes, `started_at` in Unix milliseconds."""

    version: str
    python: str
    started_at: int
    data_dir: Path
    database: int
    memory: int


class MetricsSummary(NamedTuple):
    """Counters since the start. `requests` is by status class (2 for 2xx), `replies` and `deliveries` are by outcome.

    `median_s` and `slow_s` (99th percentile) are times of POST /messages in seconds, or None without a request. `outstanding` counts events
    of webhooks.
    """

    started_at: int
    requests: dict[int, int]
    in_flight: int
    messages: int
    median_s: float | None
    slow_s: float | None
    replies: dict[str, int]
    deliveries: dict[str, int]
    outstanding: Outstanding


async def show(services: Services, _: Caller) -> SystemReport:
    """Show version, place and size of the installation."""
    config = services.config
    size = await services.db.size()
    return SystemReport(__version__, platform.python_version(), services.started_at, config.data_dir, size, _memory())


def _memory() -> int:
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def metrics(services: Services, _: Caller) -> MetricsSummary:
    """Sum up the counters of the service since its start; raises StoreUnavailable."""
    tallies = services.tallies
    requests: Counter[int] = Counter()
    for (_method, status, _route), count in tallies.requests.items():
        requests[status // 100] += count
    replies: Counter[str] = Counter()
    for (_tier, outcome), histogram in tallies.replies.items():
        replies[outcome] += sum(histogram.counts)
    durations = tallies.durations.get(MESSAGES, Histogram())
    return MetricsSummary(
        started_at=services.started_at,
        requests=dict(sorted(requests.items())),
        in_flight=tallies.in_flight,
        messages=sum(durations.counts),
        median_s=durations.quantile(0.5),
        slow_s=durations.quantile(0.99),
        replies=dict(replies.most_common()),
        deliveries=dict(services.webhooks.outcomes.most_common()),
        outstanding=await webhooks.outstanding(services.db),
    )


async def state(services: Services, *, stopping: bool) -> str:
    """Return `ready`, or the reason why the service is not ready: `stopping` or `store_unavailable`."""
    if stopping:
        return "stopping"
    if services.db.fault:
        return "store_unavailable"
    try:
        await facts.answers(services.db)
    except StoreUnavailable:
        return "store_unavailable"
    return "ready"


class EgressReport(NamedTuple):
    """Outbound connections since the start. `store_fault` is the reason why the store writes nothing, or None."""

    egress: Egress
    store_fault: str | None


async def egress(services: Services, _: Caller) -> EgressReport:
    """Show the outbound connections opened and refused since the start, by purpose."""
    return EgressReport(services.egress, services.db.fault)


async def list_acts(
    services: Services,
    caller: Caller,
    *,
    account: str | None = None,
    since: str | None = None,
    actor: str | None = None,
    act: str | None = None,
    limit: int = paging.DEFAULT,
    after: str | None = None,
) -> ResultPage[AuditRecord]:
    """List audit records of one account, or of the caller's scope, newest first.

    The `outcome` of an act that is under way or was cut off is None. `actor` selects acts by the id of the actor, `act` by the name of the
    operation.
    """
    chosen = caller.scope.accounts if account is None else [(await accounts.resolve(services, caller, account)).account.id]
    start = instant_of(since) if since is not None else 0
    limit, position = paging.clamped(limit), paging.parsed(after, paging.number)
    records = await stored.page(services.db, chosen, start, limit + 1, position[0] if position else LAST, actor, act)
    return paging.page_of(records, limit, lambda record: paging.position(record.number))


_TEXTS = re.compile(r"(^|/)(LICEN[CS]E|COPYING|NOTICE|AUTHORS)[^/]*$", re.IGNORECASE)
_CLASSIFIER = "License :: "


class Licensed(NamedTuple):
    """A package or library; `license` is None if only its text names the licence."""

    name: str
    version: str | None
    license: str | None
    text: str


async def list_licenses(services: Services, _: Caller) -> list[Licensed]:
    """List the third-party software; reads some hundred files, in a thread."""
    return await services.offload(installed)


def installed() -> list[Licensed]:
    """List the packages that chatsvc needs, directly or not, and the other contents of the binary."""
    by_name = {_normalized(package.name): package for package in metadata.distributions()}
    # The binary holds the metadata of just what is in it.
    waiting, needed = ["chatsvc"] if "chatsvc" in by_name else list(by_name), set[str]()
    while waiting:
        name = waiting.pop()
        if name in needed or name not in by_name:
            continue
        needed.add(name)
        requirements = [text for text in by_name[name].requires or [] if "extra ==" not in text]
        waiting += [_normalized(re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0]) for text in requirements]
    packages = [by_name[name] for name in sorted(needed - {"chatsvc"})]
    listed = [Licensed(package.name, package.version, _terms(package), _text(package)) for package in packages]
    if folder := getattr(sys, "_MEIPASS", None):
        # Python itself, and libraries of the system that built the binary.
        listed += [Licensed(file.stem, None, None, _read(file)) for file in sorted((Path(folder) / "licences").glob("*.txt"))]
    return listed


def _read(file: Path) -> str:
    return file.read_text("utf-8", "replace")


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _terms(package: metadata.Distribution) -> str | None:
    about = package.metadata
    short = "".join(about.get_all("License-Expression") or about.get_all("License") or [])
    if short and "\n" not in short and len(short) < 80:
        return short
    classifiers = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or [] if line.startswith(_CLASSIFIER)]
    return ", ".join(classifiers) or None


def _text(package: metadata.Distribution) -> str:
    # Not by its list of files, which the binary does not have.
    name, site = _normalized(package.name), Path(str(package.locate_file("")))
    folders = [folder for folder in site.glob("*.dist-info") if _normalized(folder.name.partition("-")[0]) == name]
    files = sorted({file for folder in folders for file in folder.rglob("*") if file.is_file() and _TEXTS.search(file.as_posix())})
    return "\n\n".join(map(_read, files))


class Rotation(NamedTuple):
    """Result of a change of the master key. `rotated_at` is in Unix milliseconds.

    `resealed` counts the secrets encrypted again, `unusable` those that the old key cannot decrypt. `file` holds the new key; it is None if
    the configuration gives the key.
    """

    rotated_at: int
    resealed: int
    unusable: int
    file: Path | None


async def rotate_master_key(services: Services, _: Caller, *, key: str | None = None) -> Rotation:
    """Replace the master key by `key` (64 hexadecimal digits) or a random one, and seal all secrets again."""
    held = services.secret
    if key is None and held.file is None:
        raise refusals.master_key_configured()
    if key is not None and not re.fullmatch("[0-9a-fA-F]{64}", key):
        raise refusals.master_key_invalid()
    if held.changing:
        raise refusals.master_key_changing()
    held.changing = True
    try:
        resealed, unusable = await _replace_key(services, bytes.fromhex(key) if key else os.urandom(32))
    except OSError as fault:
        raise refusals.master_key_unwritable(fault=fault.strerror or str(fault)) from fault
    finally:
        held.changing = False
    return Rotation(services.clock(), resealed, unusable, held.file)


async def _replace_key(services: Services, new: bytes) -> tuple[int, int]:
    held, db = services.secret, services.db
    # An interrupted attempt may have left its draft as the store's key.
    held.settle(await facts.check(db))
    await services.offload(lambda: held.expect(new))
    next_ = MasterKey(new)

    def change(purpose: str, row: str, old: bytes) -> bytes | None:
        try:
            secret = sealing.unseal(held, purpose, old, row)
        except sealing.Unsealable:
            return None
        return sealing.seal(next_, purpose, secret, row)

    try:
        return await sealing.reseal(db, held, next_.check, change)
    finally:
        # Also after a fault: only the store can tell which key is in force.
        check = await facts.check(db)
        await services.offload(lambda: held.settle(check))
