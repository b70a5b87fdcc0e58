"""Packed entries are the entries that were packed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsvc.domain.entries import PackedEntries
from chatsvc.domain.models import Entry

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ENTRIES = st.lists(st.builds(Entry, TEXT, TEXT, st.lists(TEXT, max_size=3).map(tuple), TEXT, TEXT, st.none() | TEXT), max_size=8)


@given(ENTRIES, st.integers(-10, 10), st.integers(-10, 10))
def test_what_was_packed_comes_out_again(entries: list[Entry], start: int, stop: int) -> None:
    packed = PackedEntries(iter(entries))
    assert list(packed) == entries
    assert len(packed) == len(entries)
    assert packed[start:stop] == entries[start:stop]
    if -len(entries) <= start < len(entries):
        assert packed[start] == entries[start]
    else:
        with pytest.raises(IndexError):
            packed[start]
