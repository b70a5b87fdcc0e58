"""Files named on the command line. Output files are written to a `.part` file beside the target and renamed at the end."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from chatsvc.domain.errors import CommandError
from chatsvc.local_user import open_own

_MOST_SECRET = 1 << 16  # bytes


class InputPath(click.Path):
    """The click type of an input file, which becomes a Path."""

    def __init__(self, *, exists: bool = True) -> None:
        super().__init__(exists=exists, dir_okay=False, path_type=Path)


def open_input(path: Path) -> IO[bytes]:
    """Open a file to read it. Raises OSError and, as root, CommandError for a path of another user's."""
    return os.fdopen(open_own(path), "rb")


def read_secret(file: Path) -> str:
    """Read the one line of a small file."""
    with open_input(file) as stream:
        return stream.read(_MOST_SECRET).decode("utf-8", "replace").strip()


class OutputFile:
    """A file to write, which gets its name only when it is whole. `over` replaces an existing one."""

    def __init__(self, path: Path, *, over: bool, rule: str = "nothing is written over it") -> None:
        self.path, self._over, self._rule = path, over, rule
        self._stream: IO[bytes] | None = None
        if os.path.lexists(path):
            self._check_existing()
        self._target = Path(os.path.realpath(path)) if over else path
        self._part = self._target.with_name(f".{path.name[:200]}.{os.urandom(4).hex()}.part")
        os.close(open_own(path.absolute().parent, os.O_PATH | os.O_DIRECTORY))

    def __str__(self) -> str:
        return str(self.path)

    @property
    def suffix(self) -> str:
        return self.path.suffix

    def _check_existing(self) -> None:
        if not self._over:
            raise CommandError(f"{self.path} is there already: {self._rule}")
        if not self.path.exists():
            raise CommandError(f"{self.path} is a link to a file that is not there")
        if stat.S_ISREG(self.path.stat().st_mode):
            os.close(open_own(self.path, os.O_PATH))
        else:
            # A terminal, a pipe or /dev/null is written to, not replaced.
            self._stream = self.path.open("wb")

    def open(self) -> IO[bytes]:
        if self._stream is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._stream = os.fdopen(os.open(self._part, flags, 0o600), "wb")
        return self._stream

    def keep(self) -> None:
        """Flush the file to the disk and give it its name; raises CommandError and OSError."""
        stream = self.open()
        stream.flush()
        if not self._part.exists():
            return
        os.fsync(stream.fileno())
        if self._over:
            self._part.rename(self._target)
            return
        try:
            os.link(self._part, self._target, follow_symlinks=False)
        except FileExistsError:
            raise CommandError(f"{self.path} is there already: {self._rule}") from None
        except OSError as fault:
            if fault.errno not in (errno.EPERM, errno.EOPNOTSUPP):
                raise
            # A file system without hard links, such as that of a USB stick.
            self._part.rename(self._target)
        else:
            self.drop()

    def drop(self) -> None:
        """Remove the `.part` file."""
        self._part.unlink(missing_ok=True)


class OutputPath(click.Path):
    """The click type of an output file; `over` replaces an existing one."""

    def __init__(self, *, over: bool, rule: str = "nothing is written over it") -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self._over, self._rule = over, rule

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(super().convert(value, param, ctx))  # type: ignore[arg-type]  # path_type makes it a Path
        return OutputFile(path, over=self._over, rule=self._rule)


@contextmanager
def written(output: OutputFile | None) -> Iterator[IO[bytes]]:
    """Write an output file, which gets its name at the end alone, else standard output. Raises Refused and OSError."""
    if output is None:
        with click.open_file("-", "wb") as stream:
            yield stream
        return
    try:
        yield output.open()
        output.keep()
    except BaseException:
        output.drop()
        raise
