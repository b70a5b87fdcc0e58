"""Connections to PostgreSQL are encrypted, and its certificate is verified."""

import os
import shutil
from pathlib import Path

import pytest

from tests.postgres import Postgres
from tests.processes.conftest import NewSite
from tests.webhooks.certificates import Authority


@pytest.fixture(scope="module")
def authority(server: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The authority of the server's certificate, which is for 127.0.0.1."""
    folder = tmp_path_factory.mktemp("authority")
    authority = Authority(folder)
    authority.server("127.0.0.1")
    (file,) = [path for path in folder.iterdir() if path != authority.file]
    own = server.folder / "server.pem"
    shutil.copyfile(file, own)
    status = server.folder.stat()
    os.chown(own, status.st_uid, status.st_gid)
    own.chmod(0o600)
    for name in ("ssl_cert_file", "ssl_key_file"):
        server.administer(f"ALTER SYSTEM SET {name} = '{own}'")
    server.administer("ALTER SYSTEM SET ssl = on")
    server.administer("SELECT pg_reload_conf()")
    return authority


def other(authority: Authority, folder: Path) -> Path:
    """Return the certificate of an authority that has not signed the server's."""
    del authority
    return Authority(folder, "other").file


def test_the_certificate_of_the_own_authority_is_verified(new_site: NewSite, authority: Authority) -> None:
    site = new_site("one")
    site.change(f"/{site.database}", f"/{site.database}?sslmode=verify-full&sslrootcert={authority.file}")
    site.json("init")
    with site.serve() as serving:
        sessions = "SELECT DISTINCT ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE usename = 'chatsvc'"
        assert site.rows(f"{sessions} AND datname = current_database()") == [(True,)]
        assert serving.end() == 0


@pytest.mark.parametrize(
    ("host", "mode", "root", "told"),
    [
        ("127.0.0.1", "verify-full", "other", "certificate verify failed"),
        ("127.0.0.1", "verify-full", "missing", "does not exist"),
        ("localhost", "verify-full", "own", "does not match host name"),
        ("127.0.0.1", "verify-ca", "other", "certificate verify failed"),
    ],
)
def test_a_certificate_that_cannot_be_trusted_is_refused_in_one_line(
    new_site: NewSite, authority: Authority, tmp_path: Path, host: str, mode: str, root: str, told: str
) -> None:
    site = new_site("one")
    file = {"own": authority.file, "other": other(authority, tmp_path), "missing": tmp_path / "missing.pem"}[root]
    site.change("@127.0.0.1:", f"@{host}:")
    site.change(f"/{site.database}", f"/{site.database}?sslmode={mode}&sslrootcert={file}")
    assert told in site.refused("bot", "list")


def test_a_database_in_another_encoding_is_refused(new_site: NewSite, server: Postgres) -> None:
    site = new_site("one")
    server.administer(f"CREATE DATABASE {site.database}_latin OWNER chatsvc ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    site.change(f"/{site.database}", f"/{site.database}_latin")
    assert "has the encoding LATIN1" in site.refused("serve")
