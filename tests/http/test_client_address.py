"""Client addresses behind trusted proxies: the rightmost forwarded address that is no trusted proxy's."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsvc.web.client_address import behind

TRUSTED = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("x_forwarded_for", "forwarded", "client"),
    [
        (["203.0.113.7"], [], "203.0.113.7"),
        (["192.0.2.1, 203.0.113.7"], [], "203.0.113.7"),
        (["192.0.2.1", "203.0.113.7"], [], "203.0.113.7"),
        (["192.0.2.1, 203.0.113.7, 10.0.0.2,10.9.9.9"], [], "203.0.113.7"),
        (["10.0.0.3, 10.0.0.2"], [], "10.0.0.3"),
        (["203.0.113.7:41000"], [], "203.0.113.7"),
        (["[2001:db8::7]:41000"], [], "2001:db8::7"),
        (["2001:db8::7"], [], "2001:db8::7"),
        (["::ffff:203.0.113.7"], [], "203.0.113.7"),
        (["192.0.2.1, unknown, 10.0.0.2"], [], "10.0.0.2"),
        (["192.0.2.1, unknown"], [], None),
        (["192.0.2.1, "], [], None),
        ([""], [], None),
        ([], [], None),
        ([], ["for=203.0.113.7"], "203.0.113.7"),
        ([], ["for=192.0.2.1, for=203.0.113.7;proto=https;by=10.0.0.1"], "203.0.113.7"),
        ([], ['proto=https;For="[2001:db8::7]:41000"'], "2001:db8::7"),
        ([], ['for="203.0.113.7:80" , for=10.0.0.2'], "203.0.113.7"),
        ([], ['for=192.0.2.1;x="a', "for=203.0.113.7"], "203.0.113.7"),
        ([], ["for=192.0.2.1, proto=https"], None),
        ([], ["for=192.0.2.1, for=_hidden"], None),
        ([], ["203.0.113.7"], None),
        # Read in steps as many as its characters: more would be minutes.
        ([], ["for=203.0.113.7" + ";" * 200_000 + "x"], "203.0.113.7"),
        ([], [";" * 200_000 + '"'], None),
        # Both fields, which agree or not.
        (["203.0.113.7"], ["for=203.0.113.7"], "203.0.113.7"),
        (["203.0.113.7"], ["for=192.0.2.1"], None),
    ],
    ids=itertools.count(),
)
def test_the_rightmost_address_that_is_no_proxys_is_the_clients(
    x_forwarded_for: Sequence[str], forwarded: Sequence[str], client: str | None
) -> None:
    address = behind("10.0.0.1", x_forwarded_for, forwarded, TRUSTED)
    assert (str(address) if address else None) == client


@pytest.mark.parametrize("peer", ["203.0.113.9", "11.0.0.1", "unknown", ""])
def test_whom_nobody_trusts_is_not_believed(peer: str) -> None:
    assert behind(peer, ["192.0.2.1"], [], TRUSTED) is None


def test_a_mapped_peer_is_the_address_that_it_stands_for_and_a_socket_is_trusted() -> None:
    assert str(behind("::ffff:10.0.0.1", ["203.0.113.7"], [], TRUSTED)) == "203.0.113.7"
    assert str(behind("", ["203.0.113.7"], [], (), by_socket=True)) == "203.0.113.7"


@given(st.text(alphabet='for=";,.: 12[]a', max_size=60))
def test_whatever_a_caller_writes_the_proxys_own_word_counts(written: str) -> None:
    assert str(behind("10.0.0.1", [f"{written}, 203.0.113.7"], [], TRUSTED)) == "203.0.113.7"
    assert str(behind("10.0.0.1", [], [f"{written}, for=203.0.113.7"], TRUSTED)) == "203.0.113.7"
