"""Completion by the Tab key, tried in real shells in a terminal."""

import os
import pty
import re
import select
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.cli.support import PATIENCE_S, Site, environment, run

READY = "ready> "
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile"],
    "zsh": ["zsh", "-f"],
    "fish": ["fish", "--no-config"],
}
# The prompt is put together, so that it is not seen where these lines themselves are.
BEGIN = {
    "bash": "source ./script; PS1='rea''dy> '",
    "zsh": "autoload -U compinit; compinit -D -u; source ./script; PS1='rea''dy> '",
    "fish": "source ./script; function fish_prompt; printf 'rea%s> ' dy; end",
}


def typed(shell: str, folder: Path, line: str) -> str:
    """The completed command line after `line` was typed. Every character has its shell meaning."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not on this machine")
    (folder / "script").write_text(run("completion", shell).out)
    env = environment(PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}", TERM="dumb", HOME=str(folder), HISTFILE="/dev/null")
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execve(program, SHELLS[shell], env)  # noqa: S606  # the shell itself is what is asked
    try:
        os.write(terminal, f"{BEGIN[shell]}\r".encode())
        _read(terminal, READY)
        # To the beginning of the line, and have it repeated instead of run.
        os.write(terminal, f"{line}\x01echo \x22<\x22 \x05 \x22>\x22\r".encode())
        return _read(terminal, r"\n< (.*?) >\r")
    finally:
        os.close(terminal)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _read(terminal: int, until: str) -> str:
    """Read what the terminal shows until something has come, and give its part in brackets."""
    shown = ""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.5)[0]:
            shown += os.read(terminal, 65536).decode("utf-8", "replace")
        if match := re.search(until, shown):
            return match[match.re.groups]
    raise AssertionError(shown)


LINES = {
    "commands and their options": ("chatsvc acc\tcre\tx --pl\t", "chatsvc account create x --plan"),
    "words that an option takes": ("chatsvc account set x --status tri\t", "chatsvc account set x --status trialing"),
    "names that the configuration gives": (
        "chatsvc -c config.yaml bot create x --model off\t",
        "chatsvc -c config.yaml bot create x --model offline",
    ),
    "topics of the manual": ("chatsvc help ope\t", "chatsvc help operate"),
    "files": ("chatsvc backup verify some-\t", "chatsvc backup verify some-file"),
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("what", LINES)
def test_the_tab_key_completes(what: str, shell: str, tmp_path: Path) -> None:
    (tmp_path / "some-file").write_text("")
    (tmp_path / "config.yaml").write_text("models: {offline: {engine: knowledge}}")
    line, completed = LINES[what]
    assert typed(shell, tmp_path, line).rstrip() == completed
    assert not (tmp_path / "data").exists()


def test_ids_are_completed_by_their_beginning_or_the_name_while_the_service_runs(tmp_path: Path) -> None:
    site = Site(tmp_path)
    bot = site.bot(site.account("Acme Ltd"))
    line = "chatsvc -c config.yaml bot show "
    assert typed("bash", tmp_path, f"{line}{bot[:5]}\t").rstrip() == f"{line}{bot[:5]}"
    with site.serve():
        assert typed("bash", tmp_path, f"{line}{bot[:5]}\t").rstrip() == f"{line}{bot}"
        assert typed("bash", tmp_path, f"{line}desk\t").rstrip() == f"{line}{bot}"


def test_a_configuration_that_cannot_be_read_does_not_disturb_the_line(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("colour: blue")
    line = "chatsvc -c config.yaml bot create x --model "
    done = run(cwd=tmp_path, env=environment(_CHATSVC_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD="7"))
    assert (done.status, done.out, done.err) == (0, "\n", "")
