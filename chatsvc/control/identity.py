"""Identity of a command: root becomes the service's user for good.

The service's user is the owner of the data folder, or of the configuration where an unprivileged user owns that. Before the change, only
the bytes of a configuration of root's are read, and the control socket is connected.
"""

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path

from chatsvc import config, translations
from chatsvc.config import Config, ConfigDocument
from chatsvc.control import client
from chatsvc.domain.errors import CommandError
from chatsvc.privileges import become
from chatsvc.trusted_paths import has_foreign_writers, is_root, nearest_folder, resolved

# Imported before the change of user, who may not be allowed to read the folder in which root keeps the program.
_LATE = (
    *("socket", "zoneinfo", "importlib.readers", "encodings.ascii", "encodings.idna", "encodings.utf_8_sig", "difflib", "yaml"),
    *(
        "chatsvc.control.alone",
        "chatsvc.domain.knowledge_files.decoding",
        "chatsvc.services.knowledge.knowledge_cache",
        "chatsvc.services.operations.backups",
    ),
    *("chatsvc.config.shown", "chatsvc.store.sqlite.migrations", "pwd"),
)


class Identity:
    """Decides which user a command becomes. `late` are modules imported before the change, `before` is a last step as root."""

    def __init__(self, *, late: Iterable[str] = (), before: Callable[[], None] | None = None, listens: bool = False) -> None:
        self._late = late
        self._before = before
        self._listens = listens

    def load(self, named: str | None, environ: Mapping[str, str], cwd: Path) -> Config:
        """Locate the configuration and interpret it as the service's user, which root becomes. Raises ConfigError and CommandError."""
        path = config.locate(named, environ, cwd)
        if not is_root():
            return config.load(path, environ)
        is_implicit = named is None and not environ.get("CHATSVC_CONFIG")
        document = self._of_root(path, environ, is_implicit=is_implicit) if path else config.read(None, environ)
        if document is None:
            return config.load(path, {name: value for name, value in environ.items() if _is_for_the_service(name)})
        self._become_owner(document)
        return config.build(document)

    def _of_root(self, path: Path, environ: Mapping[str, str], *, is_implicit: bool) -> ConfigDocument | None:
        """Read a configuration of root's. Become the owner of any other one, and return None."""
        with resolved(path) as found:
            if found.file is None:
                raise CommandError(f"{path} leads to a file that is not there")
            status, folder = os.fstat(found.file), os.fstat(found.folder)
            if is_implicit and (status.st_uid or folder.st_uid or has_foreign_writers(folder)):
                raise CommandError(f"{path} is not taken as root, for others may put it there: name it with -c if it is meant")
            if status.st_uid:
                self.become(status.st_uid, status.st_gid)
                return None
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                who = "everybody" if status.st_mode & stat.S_IWOTH else "its group"
                raise CommandError(f"{who} may write {path}, so root does not read it: chmod go-w {path}")
            descriptor = os.open(f"/proc/self/fd/{found.file}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return config.read(path, environ, descriptor)
        finally:
            os.close(descriptor)

    def _become_owner(self, document: ConfigDocument) -> None:
        folder = document.data_dir()
        uid, gid = data_owner(folder)
        if uid:
            from chatsvc.services.operations.stores import LATE

            late = LATE if document.names_postgres() else ()
            self.become(uid, gid, folder, late, keep_low_ports=self._listens and document.low_port())

    def become(self, uid: int, gid: int, folder: Path | None = None, late: Iterable[str] = (), *, keep_low_ports: bool = False) -> None:
        """Import late modules, connect to the service on `folder`, and become this user; raises CommandError."""
        from chatsvc.services.administration import OPERATIONS

        for operation in OPERATIONS.values():
            operation.function()
        for module in (*_LATE, *self._late, *late):
            import_module(module)
        # Sentences too are read before: the folder of the program may be root's alone.
        if self._listens:
            translations.texts()
        for name in translations.OF_COMMANDS:
            translations.section(name)
        if self._before:
            self._before()
        if folder is not None:
            client.reserve(folder)
        become(uid, gid, keep_low_ports=keep_low_ports)


def _is_for_the_service(variable: str) -> bool:
    """Whether a configuration of another user may use this variable of root's environment. It can send what it reads anywhere."""
    return variable in ("ANTHROPIC_API_KEY", "HOME") or variable.startswith("CHATSVC_")


def data_owner(folder: Path) -> tuple[int, int]:
    """Return user and group id of the owner of the data folder or of its nearest parent. Raises CommandError where root may not use it."""
    try:
        status = _status(folder)
        if status is not None:
            return status.st_uid, status.st_gid
        status = nearest_folder(folder)
    except NotADirectoryError:
        return 0, 0  # refused, with the reason, where it is used
    except OSError as fault:
        raise CommandError(f"the data folder {folder} cannot be used: {fault.strerror}") from None
    if status.st_uid == 0 and has_foreign_writers(status):
        raise CommandError(f"root makes no data folder {folder} where others may write: make it for the service's user first")
    return status.st_uid, status.st_gid


def _status(folder: Path) -> os.stat_result | None:
    """Return the data folder's status, None if it is missing. Raises CommandError for a link, and for a folder that others may write."""
    try:
        with resolved(folder, follow_last=False) as found:
            status = os.fstat(found.file) if found.file is not None else None
    except FileNotFoundError:
        return None
    if status is not None and stat.S_ISLNK(status.st_mode):
        raise CommandError(f"the data folder {folder} is a link: set data_dir to the folder itself")
    if status is not None and status.st_uid == 0 and stat.S_ISDIR(status.st_mode) and has_foreign_writers(status):
        raise CommandError(f"the data folder {folder} is root's, but others may write it: chmod 700 {folder}")
    return status
