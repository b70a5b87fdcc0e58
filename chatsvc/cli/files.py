"""Files named on the command line, and the knowledge in them or in a bot.

Output files are written to a `.part` file beside the target and renamed at the end.
"""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from chatsvc.cli.output import call
from chatsvc.domain.errors import CommandError
from chatsvc.local_user import open_own

if TYPE_CHECKING:
    from chatsvc.domain.knowledge_files.parsed import ReadFile

AT_ONCE = 64 * 1024 * 1024  # bytes of all files of one call
_MOST_SECRET = 1 << 16  # bytes


class InputPath(click.Path):
    """The click type of an input file, which becomes a Path. If `may_be_empty` is true, "" stands for no file."""

    def __init__(self, *, exists: bool = True, may_be_empty: bool = False) -> None:
        super().__init__(exists=exists, dir_okay=False, path_type=Path)
        self._may_be_empty = may_be_empty

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == "" and self._may_be_empty else super().convert(value, param, ctx)


def open_input(path: Path) -> IO[bytes]:
    """Open a file to read it. Raises OSError and, for root, CommandError if the path belongs to another user."""
    return os.fdopen(open_own(path), "rb")


def read_secret(file: Path) -> str:
    """Read a secret from a file that contains only this secret. White space around it is removed."""
    with open_input(file) as stream:
        return stream.read(_MOST_SECRET).decode("utf-8", "replace").strip()


class OutputFile:
    """An output file, which gets its name only when it is complete. If `over` is true, an existing file is replaced."""

    def __init__(self, path: Path, *, over: bool, rule: str) -> None:
        self.path, self.suffix, self._over, self._rule = path, path.suffix, over, rule
        self._is_device = path.exists() and not path.is_file()
        if os.path.lexists(path) and not over:
            raise CommandError(f"{path} is there already: {rule}")
        if os.path.lexists(path) and not path.exists():
            raise CommandError(f"{path} is a link to a file that is not there")
        if path.is_file():
            os.close(open_own(path, os.O_PATH))
        os.close(open_own(path.absolute().parent, os.O_PATH | os.O_DIRECTORY))

    def __str__(self) -> str:
        return str(self.path)

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Write the file under a temporary name, flush it to the disk, then rename it. Raises CommandError and OSError."""
        if self._is_device:  # a terminal, a pipe or /dev/null is written to, not replaced
            with self.path.open("wb") as stream:
                yield stream
            return
        target = Path(os.path.realpath(self.path)) if self._over else self.path
        part = target.with_name(f".{self.path.name[:200]}.{os.urandom(4).hex()}.part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(part, flags, 0o600), "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            if self._over or not self._linked(part, target):
                part.rename(target)
        finally:
            part.unlink(missing_ok=True)

    def _linked(self, part: Path, target: Path) -> bool:
        """Link `part` to the name `target`. Return False if the file system has no hard links, as on a USB stick."""
        try:
            os.link(part, target, follow_symlinks=False)
        except FileExistsError:
            raise CommandError(f"{self.path} is there already: {self._rule}") from None
        except OSError as fault:
            if fault.errno not in (errno.EPERM, errno.EOPNOTSUPP):
                raise
            return False
        return True


class OutputPath(click.Path):
    """The click type of an output file. If `over` is true, an existing file is replaced."""

    def __init__(self, *, over: bool, rule: str = "nothing is written over it") -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self._over, self._rule = over, rule

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path = Path(super().convert(value, param, ctx))  # type: ignore[arg-type]  # path_type makes it a Path
        return OutputFile(path, over=self._over, rule=self._rule)


def written(output: OutputFile | None) -> AbstractContextManager[IO[bytes]]:
    """Return a context manager that opens `output`, or standard output if it is None. Raises CommandError and OSError."""
    return click.open_file("-", "wb") if output is None else output.open()


def read_text(path: Path) -> str:
    """Read a UTF-8 file. Raises CommandError."""
    return decoded(path.name, _bytes_of(path))


def decoded(name: str, data: bytes) -> str:
    from chatsvc.domain.knowledge_files.parsed import KnowledgeFileError, decode

    try:
        return decode(name, data)
    except KnowledgeFileError as fault:
        raise CommandError(str(fault)) from None


def _bytes_of(path: Path) -> bytes:
    """Read a file, up to one byte more than a knowledge file may have. It may be an endless device."""
    from chatsvc.domain.knowledge_files.parsed import MAX_BYTES

    with open_input(path) as file:
        return file.read(MAX_BYTES + 1)


def read_files(ctx: click.Context, bot: str, paths: tuple[Path, ...]) -> list["ReadFile"]:
    """Read knowledge files in a child process, in the bot's language. Raises Refused with the faults of all files, and CommandError."""
    from chatsvc.services.knowledge.file_reading import FileReader

    if sum(path.stat().st_size for path in paths) > AT_ONCE:
        raise CommandError(f"these files have more than {AT_ONCE // 1024 // 1024} MB together; add them one after the other")
    files = [(path.name, _bytes_of(path)) for path in paths]
    with FileReader() as reader:
        language = call(ctx, "bot.show", bot=bot)["language"]
        return reader.read([(name, data, language) for name, data in files])


def parse_knowledge(wanted: Sequence[tuple[list[tuple[str, bytes]] | None, str]]) -> list[list["ReadFile"] | None]:
    """Parse the knowledge files of several bots. `wanted` has the files (or None) and the language of each bot. Raises Refused.

    If root runs the command, call this before the first operation.
    """
    from chatsvc.services.knowledge.file_reading import FileReader

    given = [(name, data, language) for files, language in wanted for name, data in files or ()]
    parsed = iter(list["ReadFile"]())
    if given:
        with FileReader() as reader:
            parsed = iter(reader.read(given))
    return [None if files is None else [next(parsed) for _ in files] for files, _ in wanted]
