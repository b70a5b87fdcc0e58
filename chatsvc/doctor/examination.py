"""Order of the checks of `doctor`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from chatsvc.config import Config, ConfigError
from chatsvc.doctor import files, model, network
from chatsvc.doctor.report import Check, fault
from chatsvc.domain.errors import CommandError
from chatsvc.domain.times import now_ms


def examine(load: Callable[[], Config]) -> Iterator[Check]:
    """Check the installation whose configuration `load` returns; raises nothing for its faults."""
    try:
        config = load()
    except ConfigError as faulty:
        for line in str(faulty).splitlines():
            yield fault("configuration", line, "mend the file at the place that is named; config.example.yaml shows all settings")
        return
    except OSError as unreadable:
        yield fault(
            "configuration", f"{unreadable.filename}: {unreadable.strerror}", "name a file that can be read: -c FILE, or $CHATSVC_CONFIG"
        )
        return
    except CommandError as refusal:
        yield fault("configuration", str(refusal), "keep configuration and data in folders that root or the service's user alone may write")
        return
    try:
        yield from _of_installation(config)
    except PermissionError as closed:
        remedy = f"run the command as the owner of {config.data_dir} or as root"
        yield fault("data folder", f"{closed.filename or config.data_dir} may not be looked at", remedy)


def _of_installation(config: Config) -> Iterator[Check]:
    now = now_ms()
    yield from files.configuration(config)
    yield from files.folder(config)
    yield from files.temporary()
    checks, examined = files.store(config)
    yield from checks
    yield from files.master_key(config, examined)
    yield from files.clock(now, examined)
    yield from network.service(config)
    yield from network.public_url(config)
    yield from network.certificates(config)
    if config.egress == "all":
        yield from model.server(config)
    yield from network.webhooks(config, examined)
    yield from files.backups(config, now)
