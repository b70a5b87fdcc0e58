"""Composition root, which builds the parts of the running service and starts and stops them in order."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Self

from aiohttp import web

from chatsvc import background, workers
from chatsvc.api.interface import API_ROOT, Interface
from chatsvc.api.outside import Outside
from chatsvc.config import Config
from chatsvc.control.client import connect
from chatsvc.control.server import ControlServer
from chatsvc.domain.errors import CommandError
from chatsvc.domain.models import ServiceNode
from chatsvc.domain.times import now_ms
from chatsvc.engines import Engine, EngineError
from chatsvc.engines.knowledge import KnowledgeEngine
from chatsvc.outbound.egress import Egress
from chatsvc.platforms import PLATFORMS
from chatsvc.services.messages import channel_messages, messages
from chatsvc.services.messages.channel_messages import ChannelAnswers
from chatsvc.services.messages.outbox import Outbox
from chatsvc.services.operations import backups, stores
from chatsvc.services.operations.mailer import Mailer
from chatsvc.services.operations.nodes import address, new_node
from chatsvc.services.operations.stores import StoreChoice
from chatsvc.services.services import Services
from chatsvc.store import accounts, facts
from chatsvc.store.database import Database, StoreUnavailable
from chatsvc.store.folder import Folder, FolderInUse
from chatsvc.store.master_key import MasterKey
from chatsvc.timezones import use_newest_zones
from chatsvc.web.listeners import Listeners
from chatsvc.web.middlewares import observe
from chatsvc.widget import WebChannel

if TYPE_CHECKING:
    from chatsvc.dashboard import Dashboard

log = logging.getLogger(__name__)

LOCK_WAIT_S = 10.0
SWITCH_S = 0.0005
GRACE_S = 5.0
MAX_FILES = 65_536


def _anthropic(config: Config, egress: Egress) -> Engine:
    from chatsvc.engines.anthropic import AnthropicEngine, Provider

    settings = config.anthropic
    key = settings.api_key.reveal() if settings.api_key else None
    provider = Provider.of(settings.base_url, key, settings.platform, settings.region, settings.project)
    return AnthropicEngine(provider, timeout_s=settings.timeout_s, max_retries=settings.max_retries, egress=egress)


ENGINES: dict[str, Callable[[Config, Egress], Engine]] = {"knowledge": lambda _, __: KnowledgeEngine(), "anthropic": _anthropic}


class App:
    """The running service, as an asynchronous context manager that starts and stops it."""

    def __init__(self, config: Config, clock: Callable[[], int] = now_ms, store: StoreChoice | None = None) -> None:
        self.config = config
        self._clock = clock
        self._store = store or stores.chosen(config)
        self._undo: list[Callable[[], Any]] = []
        self._limiter: Any
        self.services: Services
        self.listeners: Listeners
        self.port: int
        self.metrics_port: int
        self.replaced: asyncio.Event

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def url(self) -> str:
        """The URL or socket path on which the service listens."""
        server = self.config.server
        scheme = "" if server.socket else "https://" if server.speaks_https else "http://"
        return scheme + address(server, self.port)

    async def _start(self) -> None:
        # A thread of the store or of an engine would wait for a busy event loop, and the loop for it, for the interpreter's 5 ms.
        sys.setswitchinterval(SWITCH_S)
        use_newest_zones()
        node = new_node(self._clock())
        folder, secret, db = await self._open(node)
        services = self.services = self._store.services(self.config, db, secret, self._clock)
        services.own_port, services.platforms = (lambda: self.listeners.port), PLATFORMS
        presence = self._store.enter(services, node)
        self._undo.append(presence.stop)
        for kind in {messages.FALLBACK, *(tier.engine for tier in self.config.models.values())}:
            services.engines[kind] = ENGINES[kind](self.config, services.egress)
            self._undo.append(services.engines[kind].close)
        self._undo.append(self.services.account_cache.flush_key_uses)
        backups.clear_outgoing(self.config)
        tasks: background.Tasks = set()
        starting = [asyncio.create_task(_started(kind, engine)) for kind, engine in services.engines.items()]
        self._undo.append(lambda: background.cancel(*tasks, *starting))
        self._limiter = services.new_limiter("api", self.config.limits.requests_per_minute)
        interface = Interface(services, self._limiter)
        self.listeners = Listeners(
            self.config.server,
            self.config.limits,
            self.config.data_dir,
            _application(services, interface),
            interface.refuse_unparsed,
            grace_s=GRACE_S,
            egress=services.egress,
        )
        # Stopped in reverse order: no new connections, then the requests in flight and their connections, then what they use.
        self._undo += [services.close, self._finish_requests]
        control = ControlServer(services, folder.path)
        self._undo.append(control.stop)
        # Else the first message would spend its deadline on loading an engine.
        await asyncio.wait(starting)
        self._undo.append(partial(background.cancel, channel_messages.settle_in_background(services)))
        await self.listeners.open()
        self.port = self.listeners.port
        self._undo.append(partial(self._stop_listening, interface))
        services.node = node._replace(listen=address(self.config.server, self.port))
        if self.config.website.ca_file is not None:
            _ = services.website  # a file that cannot be used ends the start, as that of webhooks does
        # After the listener, whose port webhooks must not reach. Events captured in the meantime are pending and are found.
        await services.webhooks.start()
        self._undo.append(partial(setattr, services.webhooks, "stopping", True))
        await services.part(Outbox).start()
        # Stopped before the turns in flight are waited for.
        self._undo.append(services.part(ChannelAnswers).close)
        self._undo += [resolve_name(platform.poller)(services).start() for platform in PLATFORMS.values() if platform.poller]
        if services.sends_mail:
            await services.part(Mailer).start()
        workers.start(services, tasks)
        await presence.serve(services.node)
        await self._show_metrics()
        # Last, because commands send webhooks too; stopped before the parts that they use.
        await control.start()

    async def _open(self, node: ServiceNode) -> tuple[Folder, MasterKey, Database]:
        folder = Folder(self.config.data_dir)
        folder.prepare()
        lock = await self._lock(folder)
        self._undo.append(lambda: os.close(lock))
        secret = stores.master_key_of(self.config, folder)
        db = await self._store.open(folder, secret, node, serves=True)
        self._undo.append(db.close)
        self.replaced = db.replaced
        await facts.belongs_to(db, secret)
        await accounts.abandon_imports(db)
        return folder, secret, db

    async def _lock(self, folder: Folder) -> int:
        deadline = asyncio.get_running_loop().time() + LOCK_WAIT_S
        while True:
            try:
                return folder.lock()
            except FolderInUse:
                running = connect(folder.path)
                if running is not None:
                    running.close()
                    raise CommandError(
                        f"a chatsvc is running on {folder.path} already: stop it first, or set data_dir to another folder"
                    ) from None
                if asyncio.get_running_loop().time() > deadline:
                    raise CommandError(f"another chatsvc holds {folder.path}") from None
            await asyncio.sleep(0.05)

    async def _stop_listening(self, interface: Interface) -> None:
        interface.stopping = True
        self.services.events.close()
        await self.listeners.close()

    async def _finish_requests(self) -> None:
        """Answer all requests in flight, then close the connections. New requests on keep-alive connections are answered, too."""
        locks = self.services.conversation_locks
        await locks.drain(self.config.anthropic.timeout_s + GRACE_S)
        await self.listeners.finish()
        # Of callers who have gone.
        await locks.drain(GRACE_S)

    async def _show_metrics(self) -> None:
        listen = self.config.metrics.listen
        if listen is None:
            return

        from chatsvc.metrics import Exposition, MetricsListener

        listener = await MetricsListener.open(Exposition(self.services), *listen)
        self._undo.append(listener.close)
        self.metrics_port = listener.port

    async def stop(self) -> None:
        """Stop all parts of the service in reverse order. If one part raises an exception, the other parts are stopped nevertheless."""
        while self._undo:
            try:
                result = self._undo.pop()()
                if result is not None:
                    await result
            except StoreUnavailable as fault:
                log.error("the store cannot answer: %s", fault)
            except Exception:
                log.exception("fault while stopping")


def _application(services: Services, interface: Interface) -> web.Application:
    """Return one application with all front ends. The dashboard, if enabled, answers the paths that belong to no other front end."""
    outside: Outside | Dashboard
    outside = pages = Outside(services, interface)
    if services.config.server.dashboard:
        # Imported only if it is switched on: it takes a while to load.
        import chatsvc.dashboard

        outside = chatsvc.dashboard.Dashboard(services)
    application = outside.application()
    application.middlewares[:] = [observe(services, list(application.middlewares))]
    pages.mount(application)
    application.add_subapp(API_ROOT, interface.application())
    WebChannel(services).mount(application)
    for platform in PLATFORMS.values():
        if platform.callback_path and platform.front_end:
            application.add_subapp(platform.callback_path, resolve_name(platform.front_end)(services).application())
    return application


async def _started(kind: str, engine: Engine) -> None:
    try:
        await engine.start()
    except EngineError as fault:
        log.error("the engine %s cannot be used: %s", kind, fault)
    except Exception:
        log.exception("unexpected fault while the engine %s was loaded", kind)


class Supervisor:
    """Notification socket of systemd (sd_notify(3)). `env` is the environment, whose variable NOTIFY_SOCKET names the socket."""

    def __init__(self, env: Mapping[str, str] = os.environ) -> None:
        address = env.get("NOTIFY_SOCKET", "")
        self._address = "\0" + address[1:] if address.startswith("@") else address
        micros = env.get("WATCHDOG_USEC", "")
        is_ours = env.get("WATCHDOG_PID", "") in ("", str(os.getpid()))
        # Half of what is allowed, as systemd recommends.
        self.every_s = int(micros) / 2_000_000 if self._address and micros.isdecimal() and is_ours else None

    def notify(self, state: str) -> None:
        """Send one message to systemd, such as "READY=1". A failure to send is ignored."""
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notified:
            notified.sendto(state.encode(), self._address)


async def serve(config: Config, ready: Callable[[App], None]) -> None:
    """Run the service until SIGTERM or SIGINT, then finish the requests in flight. Repeated signals have no further effect."""
    # Each caller, model request and webhook needs a descriptor; the usual limit of 1,024 is meant for shells.
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, min(most, MAX_FILES)), most))
    app, supervisor, loop, stopping = App(config), Supervisor(), asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)

    async def live() -> None:
        supervisor.notify("WATCHDOG=1")

    # Sent from the event loop: if that hangs, the messages stop and systemd restarts the service.
    watched = [background.run("watchdog", live, supervisor.every_s)] if supervisor.every_s else []
    async with app:
        # All objects so far stay for good and need no collection. Python's default, one collection for 700 new objects, would be one for
        # a few requests.
        gc.collect()
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)
        ready(app)
        supervisor.notify("READY=1")
        reasons = [asyncio.create_task(event.wait()) for event in (stopping, app.replaced)]
        await asyncio.wait(reasons, return_when=asyncio.FIRST_COMPLETED)
        for reason in reasons:
            reason.cancel()
        replaced = app.replaced.is_set()
        supervisor.notify("STOPPING=1")
        log.info("stopping: no new connections, finishing the requests in flight")
    await background.cancel(*watched)
    if replaced:
        raise CommandError("a newer version has taken over the store, or it has another master key by now: this process has ended")
    log.info("stopped")
