"""How messages are cut into transactions."""

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from threadkeep.domain.conversations import Message, Role, message_id, rounds
from threadkeep.domain.limits import MAX_TOOL_CALLS
from threadkeep.storage.blobs import INLINE_BYTES
from threadkeep.storage.transactions import MAX_BYTES, MAX_ITEM_BYTES, MAX_ITEMS
from threadkeep.storage.transcript_chunks import chunks

NOW = datetime(2026, 3, 1, tzinfo=UTC)
TEXTS = {size: "x" * size for size in (0, 10, 15_999, 16_001, 120_000, INLINE_BYTES, 400_000)}
HEAD_ROWS = 2


@st.composite
def transcripts(draw: st.DrawFn) -> list[Message]:
    """Make messages of all sizes in rounds of up to the most tool results."""
    messages: list[Message] = []

    def add(role: Role) -> None:
        seq = len(messages) + 1
        messages.append(
            Message(
                id=message_id(seq, "u"),
                conversation_id="c1",
                seq=seq,
                role=role,
                content=TEXTS[draw(st.sampled_from(sorted(TEXTS)))],
                created_at=NOW,
            )
        )

    for _ in range(draw(st.integers(0, 12))):
        add(draw(st.sampled_from([Role.USER, Role.ASSISTANT])))
        for _ in range(draw(st.sampled_from([0, 0, 0, 1, 5, MAX_TOOL_CALLS]))):
            add(Role.TOOL)
    return messages


@settings(max_examples=150, deadline=None)
@given(transcripts(), st.booleans())
def test_every_chunk_fits_a_transaction_and_parts_no_round(
    messages: list[Message], index: bool
) -> None:
    # When messages of any number and size are cut
    cut = list(chunks(messages, index=index))

    # Then nothing is lost or moved
    assert [placed.message for chunk in cut for placed in chunk] == messages
    # And each chunk is whole rounds
    grouped = rounds(messages)
    assert [one for chunk in cut for one in rounds([placed.message for placed in chunk])] == grouped
    for chunk in cut:
        # And each fits what DynamoDB takes, counted by what is in the rows
        inline = [len(one.message.content) for one in chunk if not one.spilled]
        assert sum(one.writes for one in chunk) + HEAD_ROWS <= MAX_ITEMS
        assert sum(inline) < MAX_BYTES - 100_000
        assert max(inline, default=0) < MAX_ITEM_BYTES - 50_000
        # And what is searchable has room for its mark
        marked = [one.message for one in chunk if one.indexed]
        assert marked == [one.message for one in chunk if index and one.message.role is Role.USER]
