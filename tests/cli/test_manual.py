"""`chatsvc help`: topics are listed, printed as Markdown, and formatted on a terminal."""

import json
import os
import pty
import re
from pathlib import Path

import pytest

from chatsvc.cli.help import formatted
from tests.cli.support import CHATSVC, environment, run

HELP = Path(__file__).parents[2] / "chatsvc" / "help"
TOPICS = sorted(file.stem for file in HELP.glob("*.md"))
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def test_the_topics_are_listed_with_a_line_about_each() -> None:
    done = run("help")
    assert [line.split()[0] for line in done.out.splitlines()] == TOPICS
    assert all(re.fullmatch(r"\w+ +[A-Z].{15,100}\.", line) for line in done.out.splitlines())
    assert [page["topic"] for page in json.loads(run("help", "--json").out)] == TOPICS


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_is_printed_as_markdown_without_the_marks_of_its_generated_parts(topic: str) -> None:
    done = run("help", topic)
    lines = [line for line in (HELP / f"{topic}.md").read_text("utf-8").splitlines() if not line.startswith("<!--")]
    assert done.out.splitlines() == lines
    assert json.loads(run("help", topic, "--json").out) == {"topic": topic, "text": done.out}


def test_a_topic_is_printed_where_the_locale_knows_no_unicode() -> None:
    done = run("help", "contribute", env=environment(PYTHONIOENCODING="ascii", PYTHONUTF8="0"))
    assert "domain ◀─ store" in done.out


def test_an_unknown_topic_is_wrong_usage_and_names_all_topics() -> None:
    done = run("help", "operations")
    assert (done.status, done.out) == (2, "")
    assert ", ".join(TOPICS) in done.err
    assert "--help` describes" not in done.err
    assert "`chatsvc bot --help` describes the command" in run("help", "bot").err


def on_a_terminal(*arguments: str, **more: str) -> str:
    """Return what a command writes to a terminal of 100 columns."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(CHATSVC[0], [*CHATSVC, *arguments], environment(TERM="xterm", COLUMNS="100", **more))  # noqa: S606  # no shell is wanted
    shown = b""
    try:
        while part := os.read(terminal, 65536):
            shown += part
    except OSError:  # Linux reports the end of the other side so
        pass
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    return shown.decode("utf-8").replace("\r\n", "\n")


def test_a_topic_goes_through_the_pager_on_a_terminal(tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho paged\nexec cat\n")
    pager.chmod(0o755)
    shown = on_a_terminal("help", "operate", PAGER=str(pager))
    assert shown.startswith("paged\n")
    assert "# Operate" not in shown
    assert "    chatsvc backup verify" in shown
    assert max(len(line) for line in ESCAPE.sub("", shown).splitlines() if not line.startswith("    ")) <= 100


SAMPLE = Path(__file__).with_name("manual_page.md").read_text("utf-8")


def test_markdown_becomes_text_for_a_terminal() -> None:
    expected = Path(__file__).with_name("manual_page.txt").read_text("utf-8")
    assert [ESCAPE.sub("", line) for line in formatted(SAMPLE, 40)] == expected.splitlines()
    title, _, *paragraph = formatted("# A\n\n" + "word " * 30, 40)
    assert title == "\x1b[1m\x1b[4mA\x1b[0m"
    assert (len(paragraph), max(map(len, paragraph)) <= 40) == (4, True)
