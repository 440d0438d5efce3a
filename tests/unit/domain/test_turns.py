"""What of a transcript goes to a model."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from threadkeep.domain.conversations import Message, Role, message_id
from threadkeep.domain.turns import for_model


def transcript(*said: tuple[Role, str]) -> list[Message]:
    return [
        Message(
            id=message_id(seq, "x"),
            conversation_id="c",
            seq=seq,
            role=role,
            content=content,
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        for seq, (role, content) in enumerate(said, start=1)
    ]


def test_user_messages_without_an_answer_between_them_are_sent_as_one() -> None:
    said = transcript((Role.USER, "a"), (Role.USER, "b"), (Role.ASSISTANT, "c"), (Role.USER, "d"))
    assert [(m.role, m.content) for m in for_model(said)] == [
        (Role.USER, "a\n\nb"),
        (Role.ASSISTANT, "c"),
        (Role.USER, "d"),
    ]


texts = st.text(max_size=5)
turns = st.lists(st.tuples(texts, st.booleans(), texts), min_size=1, max_size=10)


@given(turns)
def test_roles_alternate_and_no_word_is_lost(said: list[tuple[str, bool, str]]) -> None:
    # given turns of which some have no answer, ended by a user's message
    flat: list[tuple[Role, str]] = []
    for question, answered, answer in said:
        flat.append((Role.USER, f"q{question}"))
        if answered:
            flat.append((Role.ASSISTANT, answer))
    flat.append((Role.USER, "last"))
    # when
    sent = for_model(transcript(*flat))
    # then
    assert [m.role for m in sent] == [
        Role.USER if place % 2 == 0 else Role.ASSISTANT for place in range(len(sent))
    ]
    assert all(m.content.strip() for m in sent)
    everything = "\n\n".join(m.content for m in sent)
    assert everything == "\n\n".join(content for _, content in flat if content.strip())
