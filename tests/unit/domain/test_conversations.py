"""Message ids, titles, and what can be appended."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.domain.conversations import (
    MAX_TITLE_CHARS,
    Lease,
    Message,
    Role,
    ToolCall,
    message_id,
    require_appendable,
    rounds,
    seq_of,
    size_of,
    title_of,
)
from threadkeep.domain.limits import MAX_TOOL_CALLS
from threadkeep.errors import ValidationError
from threadkeep.system import UlidIds

NOW = datetime(2026, 3, 1, tzinfo=UTC)
LEASE = Lease(conversation_id="c1", life="l1", token=1, expires_at=NOW)
SEQS = st.integers(min_value=1, max_value=10**12 - 1)


def message(seq: int, role: Role = Role.USER, content: str = "x") -> Message:
    """Make a message of c1."""
    return Message(
        id=message_id(seq, "u"),
        conversation_id="c1",
        seq=seq,
        role=role,
        content=content,
        created_at=NOW,
    )


@given(SEQS, SEQS)
def test_message_id_names_its_place_and_sorts_by_it(one: int, other: int) -> None:
    # Given the ids of two places
    ids = UlidIds()
    first, second = message_id(one, ids.new()), message_id(other, ids.new())

    # Then each tells its place, and they are in the order of the places
    assert (seq_of(first), seq_of(second)) == (one, other)
    if one != other:
        assert (first < second) == (one < other)


@pytest.mark.parametrize(
    "forged",
    [
        "",
        "1-x",
        "000000000000-x",
        "000000000001",
        "000000000001-",
        "000000000001-x/../y",
        "0000000000001-x",
        "-00000000001-x",
        "00000000000²-x",
        "000000000001-x\n",
        f"000000000001-{'x' * 65}",
    ],
)
def test_what_no_message_can_be_called_has_no_place(forged: str) -> None:
    assert seq_of(forged) is None


@given(st.text())
def test_title_is_the_beginning_of_the_words_and_short(text: str) -> None:
    # When a title is made of any text
    title = title_of(text)

    # Then it is one line, within the bound, and begins as the text does
    words = " ".join(text.split())
    assert len(title) <= MAX_TITLE_CHARS
    assert title == words if len(words) <= MAX_TITLE_CHARS else title.endswith("…")
    assert words.startswith(title.removesuffix("…"))


def test_title_is_cut_between_words_where_there_are_words() -> None:
    assert title_of("  two\n words ") == "two words"
    assert title_of("word " * 20) == "word " * 11 + "word…"
    assert title_of("a" * 100) == "a" * 59 + "…"
    assert title_of("") == ""


def test_size_counts_utf_8_of_text_and_calls() -> None:
    call = ToolCall(id="t", name="f", arguments={"q": "é"})
    assert size_of(message(1, content="é☕")) == 5
    assert size_of(message(1, content="").model_copy(update={"tool_calls": (call,)})) == len(
        '[{"arguments":{"q":"é"},"id":"t","name":"f"}]'.encode()
    )


@given(st.lists(st.sampled_from(Role), max_size=30))
def test_rounds_part_no_tool_result_from_what_it_follows(roles: list[Role]) -> None:
    # Given messages of any roles
    messages = [message(place + 1, role) for place, role in enumerate(roles)]

    # When they are grouped
    grouped = rounds(messages)

    # Then nothing is lost or moved, and a group begins where no tool result stands
    assert [one for group in grouped for one in group] == messages
    assert all(group[0].role is not Role.TOOL for group in grouped[1:])
    assert all(one.role is Role.TOOL for group in grouped for one in group[1:])


def test_most_tool_results_of_a_message_can_be_appended_and_one_more_can_not() -> None:
    asked = message(1, Role.ASSISTANT)
    results = [message(2 + place, Role.TOOL) for place in range(MAX_TOOL_CALLS + 1)]
    require_appendable(LEASE, [asked, *results[:-1]])
    with pytest.raises(ValidationError) as failure:
        require_appendable(LEASE, [asked, *results])
    assert failure.value.code == "too_many_tool_calls"
