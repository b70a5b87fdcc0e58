"""Synchronisation of an account's bots with files in a folder (cli/bot_folder.py). Bots are matched by name; all change or none."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, TypedDict

from chatsvc.domain import profiles, refusals
from chatsvc.domain.actors import Caller, Unchanged
from chatsvc.domain.bot_tests import BotTestOutcome
from chatsvc.domain.knowledge_files.parsed import ReadFile
from chatsvc.services.accounts import accounts, bots
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.accounts.bot_file_reader import BotFileFault, BotFileReader
from chatsvc.services.accounts.bot_files import differing_of
from chatsvc.services.knowledge import bot_tests, knowledge
from chatsvc.services.services import Services
from chatsvc.store import bot_sync as stored
from chatsvc.store import knowledge as entries
from chatsvc.store.bot_sync import BotChange, BotsExhausted, FileChange, SyncedBot


class BotFile(TypedDict):
    """A bot's file: its path, its text, and the knowledge files that it names, or None if it names none."""

    file: str
    text: str
    knowledge: Sequence[ReadFile] | None


class SyncStep(NamedTuple):
    """Step of a sync for one bot. `change` is "create", "update", "none", or "remove" (of knowledge files, never of the bot)."""

    bot: str
    change: str
    settings: Sequence[str] = ()
    files: Sequence[FileChange] = ()


class SyncResult(NamedTuple):
    """Result of a sync: its steps (`plan`), and the failed tests, each with the name of its bot."""

    plan: list[SyncStep]
    failed: list[tuple[str, BotTestOutcome]]


async def sync(
    services: Services,
    caller: Caller,
    *,
    files: Sequence[BotFile],
    account: str | None = None,
    prune: bool = False,
    check: bool = False,
) -> SyncResult | Unchanged:
    """Change an account's bots so that they match `files`.

    All bots are changed or none. If `check` is true, nothing is changed and the bots' tests run. If `prune` is true, knowledge files
    that a bot's file does not name any more are removed. Raises `bot_file_invalid` with the faults of all files.
    """
    state = await accounts.resolve(services, caller, account)
    wanted = _wanted(services, state, files)
    plan = services.config.plans.get(state.account.plan or "")
    most = plan.bots if plan else 0

    try:
        changes = await stored.run(
            services.db, state.account.id, wanted, most, lambda: knowledge.origin_of(services, caller), prune=prune, check=check
        )
    except BotsExhausted:
        raise refusals.bots_exhausted(plan=plan.name if plan else None, most=most) from None
    steps = [step for change in changes for step in _steps(change)]
    if check:
        pairs = zip(wanted, changes, strict=True)
        return Unchanged(
            SyncResult(steps, [(change.bot.name, outcome) for asked, change in pairs for outcome in await _failed(services, asked, change)])
        )
    for change in changes:
        state.bots[change.bot.id] = change.bot
        if change.files or change.removed:
            services.knowledge.invalidate(change.bot.id)
    done = SyncResult(steps, [])
    return Unchanged(done) if all(step.change == "none" for step in steps) else done


def _wanted(services: Services, state: AccountState, files: Sequence[BotFile]) -> list[SyncedBot]:
    """Read all files, and return the bots that they describe. Raises `bot_file_invalid` with the faults of all files."""
    faults: list[dict[str, Any]] = []
    wanted: list[SyncedBot] = []
    named: dict[object, str] = {}
    for file in files:
        reader = BotFileReader(services.config.models)
        parts = reader.read_text(file["text"])
        name = parts.get("name")
        same = [bot for bot in state.bots.values() if bot.name == name]
        if len(same) > 1:
            reader.faults.append(BotFileFault(0, 0, "name_of_several", {"name": name}))
        if name in named:
            reader.faults.append(BotFileFault(0, 0, "name_twice", {"name": name, "file": named[name]}))
        named[name] = file["file"]
        faults += [{**fault._asdict(), "file": file["file"]} for fault in reader.in_order()]
        parsed = None if file["knowledge"] is None else [knowledge.from_file(parsed) for parsed in file["knowledge"]]
        wanted.append(SyncedBot(parts.get("name", ""), bots.new(services, state), partial(differing_of, parts=parts), parsed))
    if faults:
        raise refusals.bot_file_invalid(file="", faults=faults)
    return wanted


def _steps(change: BotChange) -> list[SyncStep]:
    name = change.bot.name
    before, after = (profiles.values_of(profiles.load(bot.profile)) for bot in (change.before, change.bot))
    settings = [name for name in change.columns if name != "profile"] + [part for part in before if before[part] != after[part]]
    removal = [SyncStep(name, "remove", files=change.removed)] if change.removed else []
    if change.is_new:
        return [SyncStep(name, "create", settings, change.files)]
    if settings or change.files:
        return [SyncStep(name, "update", settings, change.files), *removal]
    return removal or [SyncStep(name, "none")]


async def _failed(services: Services, wanted: SyncedBot, change: BotChange) -> list[BotTestOutcome]:
    """Return the tests that fail for a bot after the planned change."""
    if not bot_tests.tests_of(change.bot):
        return []
    known = await entries.with_files(services.db, change.bot.id, wanted.files or (), [outcome.source for outcome in change.removed])
    bot, now = change.bot, services.clock()
    outcomes = await services.offload(lambda: bot_tests.outcomes(bot, bot_tests.index_of(bot, *known), now))
    return [outcome for outcome in outcomes if not outcome.passed]
