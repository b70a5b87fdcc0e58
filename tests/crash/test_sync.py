"""kill -9 in the middle of `bot sync`: the bots are as before, or all of them as the folder has them."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.support import CHATSVC, Site, environment
from tests.store.inspection import query

BOTS, ENTRIES, KILLS = 3, 400, 2
WRITTEN = 100_000  # bytes of the write-ahead log: more than the audit record, less than the folder


def write(folder: Path, version: int) -> None:
    (folder / "kb").mkdir(parents=True, exist_ok=True)
    for bot in range(BOTS):
        rows = "".join(f"## What costs article {bot} {entry}?\n\nVersion {version}, {entry}.\n\n" for entry in range(ENTRIES))
        (folder / "kb" / f"bot{bot}.md").write_text(rows, encoding="utf-8")
        text = f"name: Bot {bot}\nlanguage: en\ngreeting: Version {version}\nknowledge: [kb/bot{bot}.md]\n"
        (folder / f"bot{bot}.yaml").write_text(text, encoding="utf-8")


def versions(site: Site) -> set[str]:
    """The versions of the settings and the entries of all bots."""
    (store,) = site.folder.rglob("chatsvc.db")
    assert query(store, "SELECT count(*) FROM knowledge_entries GROUP BY bot_id") == [(ENTRIES,)] * BOTS
    read = "SELECT greeting FROM bots UNION SELECT substr(answer, 1, instr(answer, ',') - 1) FROM knowledge_entries"
    return {version for (version,) in query(store, read)}


def size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def wait_for_writing(sync: subprocess.Popen[bytes], log: Path, before: int) -> None:
    """Wait until the transaction is being written, or the command has ended."""
    while sync.poll() is None and size(log) < before + WRITTEN:
        time.sleep(0.0001)


@pytest.mark.parametrize("served", [False, True], ids=["alone", "served"])
def test_a_sync_that_is_killed_leaves_the_old_or_the_new_state_whole(tmp_path: Path, *, served: bool) -> None:
    site, folder = Site(tmp_path), tmp_path / "bots"
    site.json("account", "create", "Acme")
    write(folder, 0)
    site.json("bot", "sync", str(folder))
    log = next(tmp_path.rglob("chatsvc.db")).with_name("chatsvc.db-wal")
    assert versions(site) == {"Version 0"}
    last = 0
    for version in range(1, KILLS + 1):
        write(folder, version)
        command = [*CHATSVC, "-c", str(site.config), "bot", "sync", str(folder)]
        serving = site.serve() if served else None
        before = size(log)
        with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as sync:
            wait_for_writing(sync, log, before)
            if serving:
                serving.end(signal.SIGKILL)
            sync.kill()
        (text,) = versions(site)
        assert text in {f"Version {last}", f"Version {version}"}
        last = int(text.removeprefix("Version "))
    site.json("bot", "sync", str(folder))
    assert versions(site) == {f"Version {KILLS}"}
