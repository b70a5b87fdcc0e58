"""Collection of reference cycles: at once where there are few, after a burst where there are many."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from chatsvc import workers
from chatsvc.workers import CycleCollector


class Cycle:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def by_hand() -> Iterator[None]:
    """No collection of Python's own."""
    gc.collect()
    before = gc.get_threshold()
    gc.set_threshold(10_000_000, 20, 50)
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("by_hand")
async def test_few_objects_are_collected_at_once_and_many_after_the_burst(monkeypatch: pytest.MonkeyPatch) -> None:
    collector, kept = CycleCollector(), list[object]()
    first = weakref.ref(Cycle())
    await collector.collect()
    assert first() is None
    monkeypatch.setattr(workers, "MANY_OBJECTS", 1000)
    second = weakref.ref(Cycle())
    for _ in range(3):
        kept += [[] for _ in range(5000)]
        await collector.collect()
        assert second() is not None
    await collector.collect()
    assert second() is None
    assert len(kept) == 15_000
