"""Cursors: opaque, authenticated, bound to the walk that they came from."""

import base64
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chatsvc.domain.errors import ProblemError
from chatsvc.domain.paging import MAX_DEPTH, Cursors, Position

CURSORS = Cursors(b"a secret")
WALK = ("conversations", "account", None, None)
URL_SAFE = set(string.ascii_letters + string.digits + "-_")
positions = st.builds(Position, st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1), st.integers(0, MAX_DEPTH - 1))
# None and "" differ, and so do parts that are divided elsewhere.
walks = st.lists(st.none() | st.text(st.characters(), max_size=8), min_size=1, max_size=4).map(tuple)


def refused(cursor: str, walk: tuple[str | None, ...] = WALK, cursors: Cursors = CURSORS) -> str:
    """The code with which a cursor is refused."""
    with pytest.raises(ProblemError) as caught:
        cursors.read(cursor, walk)
    return caught.value.problem.code


@given(positions, walks)
def test_a_cursor_comes_back_as_it_was_written_and_fits_into_a_query(position: Position, walk: tuple[str | None, ...]) -> None:
    cursor = CURSORS.write(position, walk)
    assert CURSORS.read(cursor, walk) == position
    assert set(cursor) <= URL_SAFE


@given(positions)
def test_changed_characters_and_other_spellings_of_the_same_bytes_are_refused(position: Position) -> None:
    cursor = CURSORS.write(position, WALK)
    alphabet = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    spellings = [cursor[:-1] + last for last in alphabet if last != cursor[-1]]
    same = [other for other in spellings if base64.urlsafe_b64decode(other + "=" * (-len(other) % 4)) == raw]
    changed = [cursor[:index] + chr(ord(letter) ^ 1) + cursor[index + 1 :] for index, letter in enumerate(cursor)]
    for other in (
        *same,
        *changed,
        cursor + "=",
        cursor + "==",
        " " + cursor,
        cursor + "\n",
        cursor + "A",
        cursor + "AAAA",
        cursor[:-1],
        cursor[:-4],
    ):
        assert refused(other) == "invalid_cursor"


@given(positions, walks, walks)
@example(Position(1, 2, 3), WALK, ("conversations", "account", "", None))
@example(Position(1, 2, 3), WALK, ("conversations", "account", None))
@example(Position(1, 2, 3), WALK, ("conversations", "account|-", None))
@example(Position(1, 2, 3), WALK, ("conversationsaccount", "", None, None))
@example(Position(1, 2, 3), (*WALK[:3], "\ud800"), (*WALK[:3], "\udfff"))
def test_a_cursor_of_another_walk_is_refused(position: Position, walk: tuple[str | None, ...], other: tuple[str | None, ...]) -> None:
    cursor = CURSORS.write(position, walk)
    assert CURSORS.read(cursor, walk) == position
    assert walk == other or refused(cursor, other) == "invalid_cursor"


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1, MAX_DEPTH + 99])
def test_a_cursor_at_or_past_the_greatest_depth_is_out_of_range_unless_it_is_forged(depth: int) -> None:
    with pytest.raises(ProblemError) as caught:
        CURSORS.read(CURSORS.write(Position(1, 2, depth), WALK), WALK)
    shown = caught.value.as_json()
    assert (shown["error"], shown["max_offset"]) == ("cursor_out_of_range", 10_000)
    assert refused(Cursors(b"another secret").write(Position(1, 2, depth), WALK)) == "invalid_cursor"


@example("")
@given(st.text(max_size=80) | st.binary(max_size=80).map(lambda raw: base64.urlsafe_b64encode(raw).decode()))
def test_nonsense_is_refused_and_never_an_error_of_another_kind(text: str) -> None:
    assert refused(text) == "invalid_cursor"
