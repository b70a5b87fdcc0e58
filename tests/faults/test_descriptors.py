"""Out of file descriptors: one line in the log, commands still work, and so do callers once connections are closed."""

import resource
import socket
import time
from contextlib import ExitStack
from pathlib import Path

from tests.cli.support import Site, ask

FILES = 160
CONNECTIONS = 3 * FILES


def test_commands_work_while_connections_use_up_the_descriptors(tmp_path: Path) -> None:
    site = Site(tmp_path)
    account = site.account()
    key = site.key(account)
    with site.serve(before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))) as serving, ExitStack() as opened:
        address = ("127.0.0.1", int(serving.url.rpartition(":")[2]))
        for _ in range(CONNECTIONS):
            opened.enter_context(socket.create_connection(address, timeout=10))
        deadline = time.monotonic() + 30
        while "cannot accept" not in site.log.read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        descriptors = Path(f"/proc/{serving.process.pid}/fd")
        assert FILES // 2 < len(list(descriptors.iterdir())) < FILES - 20
        assert len(site.json("key", "list")) == 1
        site.json("bot", "create", "Desk", "--account", account)
        # Another attempt has failed since.
        time.sleep(1.5)
        assert site.log.read_text().count("cannot accept") == 1
        opened.close()
        # A caller who comes before the service has noticed that they are closed would still be turned away.
        while len(list(descriptors.iterdir())) > FILES // 2:
            assert time.monotonic() < deadline + 20
            time.sleep(0.05)
        assert ask(serving.url, key, "GET", "/chatbots").status == 200
