"""Order of the checks of an installation."""

from collections.abc import Callable, Iterator, Mapping
from pkgutil import resolve_name
from typing import NamedTuple

from chatsvc import timezones
from chatsvc.config import Config, ConfigError
from chatsvc.doctor import channels, files, mail, model, network, postgres, report
from chatsvc.doctor.channels import TokenOf
from chatsvc.doctor.postgres import ExamineServer
from chatsvc.doctor.report import Finding
from chatsvc.domain.errors import CommandError
from chatsvc.domain.platforms import Platform
from chatsvc.domain.times import now_ms
from chatsvc.outbound.egress import Egress

Service = Callable[[Config], Iterator[Finding]]


class Extent(NamedTuple):
    """Extent of an examination.

    network: connect to the model server and look names up. models: ask for its list of models, which loads a large library.
    database_s: time for the check of the database in seconds, None for no limit, 0 for no check. egress: ledger of connections.
    """

    network: bool = True
    models: bool = True
    database_s: float | None = None
    egress: Egress | None = None


WHOLE = Extent()


def examine(
    load: Callable[[], Config],
    service: Service,
    server: ExamineServer,
    token_of: TokenOf,
    platforms: Mapping[str, Platform],
    extent: Extent = WHOLE,
) -> Iterator[Finding]:
    """Check the installation whose configuration `load` returns; raises nothing for its faults.

    `service` checks the running service, or whether it could listen; `server` examines the server of a store in PostgreSQL;
    `token_of` opens the token of a channel.
    """
    try:
        config = load()
    except ConfigError as faulty:
        for line in str(faulty).splitlines():
            yield report.fault("configuration", "configuration_invalid", fault=line)
        return
    except OSError as unreadable:
        yield report.fault("configuration", "configuration_unreadable", file=str(unreadable.filename), reason=unreadable.strerror)
        return
    except CommandError as refusal:
        yield report.fault("configuration", "configuration_untrusted", fault=str(refusal))
        return
    try:
        yield from _of_installation(config, service, server, token_of, platforms, extent)
    except PermissionError as closed:
        yield report.fault("data folder", "folder_closed", file=str(closed.filename or config.data_dir), folder=str(config.data_dir))


def _of_installation(
    config: Config, service: Service, server: ExamineServer, token_of: TokenOf, platforms: Mapping[str, Platform], extent: Extent
) -> Iterator[Finding]:
    now = now_ms()
    yield from files.configuration(config)
    yield from files.folder(config)
    yield from files.temporary()
    findings, examined = files.store(config, extent.database_s) if config.store is None else postgres.store(config, server)
    yield from findings
    yield from files.master_key(config, examined)
    yield from files.clock(now, examined)
    if (older := timezones.use_newest_zones()) is not None:  # not used here, but other programs of the machine use them
        yield report.ok("time zones", "zones_old", system=older or "?", shipped=timezones.SHIPPED)
    yield from service(config)
    yield from network.public_url(config)
    yield from network.certificates(config)
    may_connect = extent.network and config.egress == "all"
    egress = extent.egress or Egress()
    if may_connect:
        yield from model.server(config, egress, with_models=extent.models)
        yield from mail.server(config, egress)
    for platform in platforms.values():
        if platform.examine:
            yield from resolve_name(platform.examine)(config, examined, egress if may_connect else None)
    yield from network.webhooks(config, examined, resolve=may_connect)
    noted = list(files.channels(examined, platforms, now))
    yield from noted
    if may_connect:
        yield from (finding for finding in channels.tokens(config, examined, token_of, platforms, egress) if finding not in noted)
    yield from files.backups(config, now)
