"""Fixtures of the packages in which the service sends to a receiver on this machine: their conftest.py takes them over from here."""

from collections.abc import AsyncIterator

import pytest

from chatsvc.config import Config
from tests.webhooks.certificates import Authority
from tests.webhooks.receiver import Receiver
from tests.webhooks.support import may_send_here

__all__ = ["authority", "config", "receiver"]


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def config(config: Config, authority: Authority) -> Config:
    """The configuration with receivers on this machine allowed."""
    return may_send_here(config, authority.file)


@pytest.fixture
async def receiver(authority: Authority) -> AsyncIterator[Receiver]:
    """A receiver on this machine that answers with 200."""
    async with Receiver(authority.server("127.0.0.1")) as running:
        yield running
