"""Client addresses behind trusted proxies: the rightmost forwarded address that is no trusted proxy's."""

import json
from collections.abc import Sequence
from ipaddress import ip_network
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsvc.web.client_address import ClientAddresses
from tests.tables import rows

TRUSTED = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("x_forwarded_for", "forwarded", "client"),
    [
        *((json.loads(addresses), json.loads(fields), client) for addresses, fields, client in rows("http/client_addresses")),
        # Read in steps as many as its characters: more would be minutes.
        ([], ["for=203.0.113.7" + ";" * 200_000 + "x"], "203.0.113.7"),
        ([], [";" * 200_000 + '"'], ""),
    ],
    ids=count(),
)
def test_the_rightmost_address_that_is_no_proxys_is_the_clients(
    x_forwarded_for: Sequence[str], forwarded: Sequence[str], client: str
) -> None:
    assert ClientAddresses(TRUSTED).behind("10.0.0.1", x_forwarded_for, forwarded) == (client or "10.0.0.1")


@pytest.mark.parametrize(
    ("peer", "is_proxy"), [("203.0.113.9", False), ("11.0.0.1", False), ("", False), (None, False), ("::ffff:10.0.0.1", True)]
)
def test_only_a_trusted_proxy_or_a_socket_is_believed(peer: str | None, is_proxy: bool) -> None:
    assert ClientAddresses(TRUSTED).is_proxy(peer) is is_proxy
    assert not ClientAddresses().is_proxy(peer)
    assert ClientAddresses(by_socket=True).is_proxy(peer)


@given(st.text(alphabet='for=";,.: 12[]a', max_size=60))
def test_whatever_a_caller_writes_the_proxys_own_word_counts(written: str) -> None:
    addresses = ClientAddresses(TRUSTED)
    assert addresses.behind("10.0.0.1", [f"{written}, 203.0.113.7"], []) == "203.0.113.7"
    assert addresses.behind("10.0.0.1", [], [f"{written}, for=203.0.113.7"]) == "203.0.113.7"
