"""How the replay makes turns of a conversation's lines."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from bench.replay import SILENCE, Turn, turns_of
from threadkeep.domain.conversations import Message, Role

AT = datetime(2026, 1, 1, tzinfo=UTC)


def session(*lines: tuple[str, str]) -> list[Message]:
    """Make a session of lines, ``u`` for the user."""
    return [
        Message(
            id=f"{seq:012d}-x",
            conversation_id="c",
            seq=seq,
            role=Role.USER if who == "u" else Role.ASSISTANT,
            content=text,
            created_at=AT,
        )
        for seq, (who, text) in enumerate(lines, 1)
    ]


def test_lines_in_a_row_are_one_message() -> None:
    turns, left_out = turns_of(
        session(("u", "hi"), ("u", "there"), ("a", "hello"), ("a", "you"), ("u", "bye"))
    )
    assert turns == [Turn("hi\nthere", "hello\nyou"), Turn("bye", SILENCE)]
    assert left_out == 0


@given(st.lists(st.tuples(st.sampled_from("ua"), st.text("xyz", min_size=1, max_size=3))))
def test_no_line_is_lost_but_what_comes_before_the_user(lines: list[tuple[str, str]]) -> None:
    turns, left_out = turns_of(session(*lines))
    told = [text for turn in turns for text in (turn.said, turn.answer) if text != SILENCE]
    opening = next((place for place, (who, _) in enumerate(lines) if who == "u"), len(lines))
    assert "\n".join(told) == "\n".join(text for _, text in lines[opening:])
    assert left_out == (opening > 0)
