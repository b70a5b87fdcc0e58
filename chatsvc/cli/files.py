"""Files named on the command line, opened before root's privileges are dropped.

Input files are read by descriptor afterwards. Output files are written to a `.part` file beside the target and renamed at the end. Where
root is dropped in between, the folder may be root's alone: then a parent process that stays root waits, renames or removes the file, and
does nothing else.
"""

import errno
import os
import signal
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import click

from chatsvc.cli.configuration import HAND_OVER, OUTPUTS
from chatsvc.cli.output import echo
from chatsvc.domain.errors import CommandError
from chatsvc.domain.terminal import one_line
from chatsvc.trusted_paths import is_root, open_trusted, resolved

_MANY = 128  # files, from which on the soft limit of descriptors is raised


class InputFile:
    """A file to read; as root it is open already."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = open_trusted(path) if is_root() else None
        if self._descriptor is not None and self._descriptor > _MANY:
            import resource

            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def __str__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def reopened(self) -> Path:
        """A path that leads to the file that was opened, whatever has its name now."""
        return self.path if self._descriptor is None else Path(f"/proc/self/fd/{self._descriptor}")

    def open(self) -> IO[bytes]:
        if self._descriptor is None:
            return self.path.open("rb")
        stream = os.fdopen(os.dup(self._descriptor), "rb")
        if stream.seekable():
            stream.seek(0)
        return stream

    def read_bytes(self) -> bytes:
        with self.open() as stream:
            return stream.read()

    def stat(self) -> os.stat_result:
        return self.path.stat() if self._descriptor is None else os.fstat(self._descriptor)


class InputPath(click.Path):
    """The click type of an input file."""

    def __init__(self, *, exists: bool = True) -> None:
        super().__init__(exists=exists, dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, InputFile):
            return value
        path = Path(super().convert(value, param, ctx))  # type: ignore[arg-type]  # path_type makes it a Path
        return InputFile(path)


class OutputFile:
    """A file to write, which gets its name only when it is whole. `over` replaces an existing one."""

    def __init__(self, path: Path, *, over: bool, rule: str = "nothing is written over it") -> None:
        self.path, self._over, self._rule = path, over, rule
        self._name, self._part = path.name, ""
        self._stream: IO[bytes] | None = None
        self._is_parents = False
        self._folder = self._opened_folder()

    def __str__(self) -> str:
        return str(self.path)

    @property
    def suffix(self) -> str:
        return self.path.suffix

    def _opened_folder(self) -> int:
        with resolved(self.path, follow_last=False) as found:
            self._name = found.name
            if found.file is None:
                return os.dup(found.folder)
            if not self._over:
                raise CommandError(f"{self.path} is there already: {self._rule}")
        with resolved(self.path) as found:
            if found.file is None:
                raise CommandError(f"{self.path} is a link to a file that is not there")
            self._name = found.name
            if not stat.S_ISREG(os.fstat(found.file).st_mode):
                # A terminal, a pipe or /dev/null is written to, not replaced.
                self._stream = os.fdopen(os.open(f"/proc/self/fd/{found.file}", os.O_WRONLY | os.O_CLOEXEC), "wb")
            return os.dup(found.folder)

    def open(self) -> IO[bytes]:
        if self._stream is None:
            self._part = f".{self._name[:200]}.{os.urandom(4).hex()}.part"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self._stream = os.fdopen(os.open(self._part, flags, 0o600, dir_fd=self._folder), "wb")
        return self._stream

    def leave_to_parent(self) -> None:
        """Leave naming and removing to the parent process."""
        self._is_parents = True

    def keep(self) -> None:
        """Flush the file to the disk and give it its name; raises CommandError and OSError."""
        stream = self.open()
        stream.flush()
        if self._part:
            os.fsync(stream.fileno())
        if not self._is_parents:
            self.name_it()

    def name_it(self) -> None:
        """Give the `.part` file its name; raises CommandError and OSError."""
        if not self._part:
            return
        if self._over:
            os.rename(self._part, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        else:
            try:
                os.link(self._part, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder, follow_symlinks=False)
            except FileExistsError:
                raise CommandError(f"{self.path} is there already: {self._rule}") from None
            except OSError as fault:
                if fault.errno not in (errno.EPERM, errno.EOPNOTSUPP):
                    raise
                # A file system without hard links, such as that of a USB stick.
                os.rename(self._part, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
                self._part = ""
            else:
                self.drop()
        self._part = ""

    def drop(self) -> None:
        """Remove the `.part` file."""
        if self._part and not self._is_parents:
            os.unlink(self._part, dir_fd=self._folder)
            self._part = ""


class OutputPath(click.Path):
    """The click type of an output file; `over` replaces an existing one."""

    def __init__(self, *, over: bool, rule: str = "nothing is written over it") -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self._over, self._rule = over, rule

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, OutputFile):
            return value
        path = Path(super().convert(value, param, ctx))  # type: ignore[arg-type]  # path_type makes it a Path
        made = OutputFile(path, over=self._over, rule=self._rule)
        if ctx is not None:
            ctx.find_root().meta.setdefault(OUTPUTS, []).append(made)
            ctx.find_root().meta[HAND_OVER] = hand_over
        return made


def hand_over(outputs: list[OutputFile]) -> None:
    """Fork before root is dropped if there are output files. The child continues, the parent names or removes the files."""
    if not outputs:
        return
    for output in outputs:
        output.open()
    child = os.fork()
    if child == 0:
        for output in outputs:
            output.leave_to_parent()
        return
    _wait_and_name(child, outputs)


def _wait_and_name(child: int, outputs: list[OutputFile]) -> None:
    """Wait for the child, name or remove the files, and end with its exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to both
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for output in outputs:
        try:
            if status == 0:
                output.name_it()
            else:
                output.drop()
        except (CommandError, OSError) as fault:
            echo(f"chatsvc: {one_line(fault)}", err=True)
            status = 1
            output.drop()
    os._exit(status if status >= 0 else 128 - status)


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
