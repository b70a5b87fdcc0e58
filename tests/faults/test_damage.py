"""A database file that is damaged, cut off or not ours: said at the start in one line, and left byte for byte as it was."""

import json
import random
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from chatsvc.store.database import Database
from chatsvc.store.sqlite.connection import open_writer
from tests.cli.support import Site, one_line
from tests.store.inspection import query
from tests.store.support import chat, furnish, in_database

pytestmark = pytest.mark.sqlite

PAGE = 4096
SEEDS = range(3)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation with an account, and some conversations of another one; tests have copies."""
    site = Site(tmp_path_factory.mktemp("filled"))
    site.account()

    async def fill(db: Database) -> None:
        await furnish(db)
        for number in range(200):
            await chat(db, user_id=f"visitor {number % 40}", text=f"message {number} " * 20)

    in_database(site.data / "chatsvc.db", fill)
    return site.data


@pytest.fixture
def site(filled: Path, tmp_path: Path) -> Site:
    site = Site(tmp_path)
    shutil.copytree(filled, site.data)
    return site


# What is left of the file.
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a zeroed header": lambda raw: bytes(100) + raw[100:],
    "zeroed pages": lambda raw: bytes(PAGE * 4) + raw[PAGE * 4 :],
    "half": lambda raw: raw[: len(raw) // PAGE // 2 * PAGE],
    "a page short": lambda raw: raw[:-PAGE],
    "a text": lambda _: "Alışveriş listesi: süt, ekmek, yumurta\n".encode() * 200,
}


def refused_start(site: Site) -> str:
    """Return the error of a service that does not start."""
    site.log.unlink(missing_ok=True)
    with site.serve(ready=False) as serving:
        assert serving.wait() == 1
    return one_line(site.log.read_text())


@pytest.mark.usefixtures("unmeasured_processes")
def test_a_damaged_file_is_named_with_what_to_do_and_is_left_as_it_is(site: Site, subtests: pytest.Subtests) -> None:
    file = site.data / "chatsvc.db"
    whole = file.read_bytes()
    for name, damage in DAMAGES.items():
        with subtests.test(name):
            damaged = damage(whole)
            file.write_bytes(damaged)
            for message in (site.refused("account", "list"), *([refused_start(site)] if name in {"zeroed pages", "a text"} else [])):
                assert str(file) in message
                assert "is damaged" in message
                assert "backup" in message
            assert file.read_bytes() == damaged
            assert [path.name for path in site.data.iterdir() if path.name.startswith("chatsvc.db")] == ["chatsvc.db"]


def test_the_database_of_another_program_gets_none_of_our_tables(site: Site) -> None:
    file = site.data / "chatsvc.db"
    file.unlink()
    query(file, "CREATE TABLE bookmarks (url TEXT)")
    before = file.read_bytes()
    for message in (refused_start(site), site.refused("account", "list")):
        assert message.startswith(f"{file} is another program's database: ")
    assert file.read_bytes() == before


@pytest.mark.usefixtures("unmeasured_processes")
@pytest.mark.parametrize("seed", SEEDS)
def test_damage_anywhere_is_told_at_the_start_or_with_503_and_never_as_a_fault_of_ours(site: Site, seed: int) -> None:
    account = site.account("Beta")
    bot, key = site.bot(account), site.key(account)
    file = site.data / "chatsvc.db"
    chance = random.Random(seed)
    raw = bytearray(file.read_bytes())
    for page in chance.sample(range(1, len(raw) // PAGE), k=8):
        raw[page * PAGE : (page + 1) * PAGE] = chance.randbytes(PAGE)
    file.write_bytes(raw)
    with site.serve(ready=False) as serving:
        if (line := serving.process.stdout.readline() if serving.process.stdout else b"") == b"":
            assert serving.wait() == 1
            log = site.log.read_text()
            # Background tasks may have met the damage before the start did.
            assert "Traceback" not in log
            assert "is damaged" in one_line(log.splitlines(keepends=True)[-1])
            return
        serving.url = json.loads(line)["url"]
        statuses = set()
        for method, path, body in (
            ("GET", "/chatbots", None),
            ("GET", "/conversations", None),
            ("GET", "/analytics", None),
            ("POST", "/messages", {"chatbot_id": bot, "message": "merhaba", "user_id": "v"}),
        ):
            answer = serving.ask(key, method, path, body)
            statuses.add(answer.status)
            assert (answer.status, answer.json.get("error")) in {
                (200, None),
                (401, "invalid_api_key"),
                (503, "service_unavailable"),
                (503, "auth_backend_unavailable"),
            }
        assert serving.end() == 0
    log = site.log.read_text()
    assert "Traceback" not in log
    assert ("is damaged" in log) or statuses == {200}


def test_damage_that_comes_while_the_service_runs_is_503_and_logged(site: Site) -> None:
    account = site.account("Beta")
    bot, key = site.bot(account), site.key(account)
    file = site.data / "chatsvc.db"
    with site.serve() as serving:
        assert serving.ask(key, "GET", "/chatbots").status == 200
        raw = file.read_bytes()
        with file.open("r+b") as stream:
            stream.write(b"\xee" * len(raw))
        answers = [
            serving.ask(key, "GET", "/conversations"),
            serving.ask(key, "POST", "/messages", {"chatbot_id": bot, "message": "merhaba"}),
        ]
        assert {answer.status for answer in answers} <= {200, 503}
        assert 503 in {answer.status for answer in answers}
        assert serving.end() == 0
    log = site.log.read_text()
    assert "is damaged" in log
    assert "Traceback" not in log


def test_a_database_that_has_no_tables_yet_is_taken(tmp_path: Path) -> None:
    """As a crash in the very first start leaves it."""
    (tmp_path / "chatsvc.db").touch()
    with closing(open_writer(tmp_path / "chatsvc.db")) as connection:
        assert connection.execute("SELECT count(*) FROM accounts").fetchone() == (0,)
