"""What every conversation store does with messages."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.contract.stores import (
    KINDS,
    NOW,
    USER,
    Stores,
    acquire,
    conversation,
    existing,
    later,
    message,
    open_stores,
    say,
    tool_round,
    transcript,
)
from threadkeep.domain.conversations import Message, Role, ToolCall, Usage, message_id, size_of
from threadkeep.domain.limits import MAX_PAGE_BYTES, MAX_TOOL_CALLS
from threadkeep.domain.retrieval import DocumentKind
from threadkeep.errors import ConflictError, ValidationError
from threadkeep.ports import PageRequest, Pending


@pytest.fixture(params=KINDS)
def stores(request: pytest.FixtureRequest) -> Stores:
    """Every kind of stores in turn, empty."""
    return open_stores(request)


def open_calls(messages: list[Message]) -> set[str]:
    """Return the ids of the calls that have no result, or the other way round."""
    asked = {call.id for m in messages for call in m.tool_calls}
    answered = {m.tool_call_id for m in messages if m.role is Role.TOOL and m.tool_call_id}
    return asked ^ answered


def test_every_field_of_a_message_survives(stores: Stores) -> None:
    # Given messages that use every field, in any script
    asked = message(
        1, "Où est «le café»? 咖啡 ☕\n\u2028\x00", learnable=True, agent_id="a1", speaker="Zoë"
    )
    call = ToolCall(id="t1", name="find", arguments={"q": "咖啡", "n": 1.5, "deep": [{"x": None}]})
    answered = message(
        2,
        role=Role.ASSISTANT,
        parent_id=asked.id,
        tool_calls=(call,),
        agent_id="a1",
        model_id="bedrock:m",
        usage=Usage(input_tokens=3, output_tokens=2, cached_tokens=1),
        stop_reason="tool_use",
        created_at=later(seconds=0.000001),
    )
    found = message(3, role=Role.TOOL, parent_id=answered.id, tool_call_id="t1")
    empty = found.model_copy(update={"id": message_id(4, "x"), "seq": 4, "content": ""})

    # When they are stored
    stores.conversations.append(USER, acquire(stores), [asked, answered, found, empty], at=NOW)

    # Then they come back equal, in order, and no field is left that this has not tried
    assert transcript(stores) == [asked, answered, found, empty]
    tried = {name for each in (asked, answered, found) for name in each.model_fields_set}
    assert tried | {"searchable"} == set(Message.model_fields)


def test_place_that_does_not_continue_the_transcript_is_refused(stores: Stores) -> None:
    # Given a transcript of two messages
    lease = acquire(stores)
    stored = [message(1), message(2)]
    stores.conversations.append(USER, lease, stored, at=NOW)
    head = existing(stores)

    # When messages come that leave a gap or take a place again, the same ones included
    for wrong in ([message(4)], [message(2)], [message(1)], [stored[1]]):
        with pytest.raises(ConflictError) as failure:
            stores.conversations.append(USER, lease, wrong, at=later(hours=1), index=True)
        assert failure.value.code == "lease_lost"

    # Then nothing has changed
    assert transcript(stores) == stored
    assert existing(stores) == head
    assert stores.memory.pending(USER) == []


def test_messages_out_of_order_or_of_elsewhere_are_a_fault_of_the_caller(stores: Stores) -> None:
    # Given a lease of c1
    lease = acquire(stores)

    # When messages with gaps, of another conversation, or with an id of another place come
    faults = [
        [message(1), message(3)],
        [message(1, conversation_id="c2")],
        [message(1, id=message_id(2, "x"))],
    ]

    # Then they are refused and nothing is stored
    for fault in faults:
        with pytest.raises(ValueError, match="must"):
            stores.conversations.append(USER, lease, fault, at=NOW)
    assert transcript(stores) == []


def test_two_writers_in_one_second_make_one_order_with_pairs_intact(stores: Stores) -> None:
    """T47: ten turns of two writers, all with the same time on the clock."""

    # Given two writers that each take the lease for every turn, a question and a tool round
    def write(name: str) -> None:
        for turn in range(10):
            while True:
                lease = stores.conversations.acquire(
                    USER, conversation(), now=NOW, until=later(seconds=60)
                )
                if lease is not None:
                    break
            first = existing(stores).next_seq
            asked = message(first, f"{name} {turn}", created_at=NOW)
            round_ = tool_round(first + 1, 2, f"{name} {turn}")
            stores.conversations.append(USER, lease, [asked], at=NOW)
            stores.conversations.append(USER, lease, round_, at=NOW)
            stores.conversations.release(USER, lease)

    # When both write at the same time
    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(write, name) for name in ("a", "b")]:
            future.result()

    # Then the order is total and without gaps, each turn stands together, each writer's in order
    messages = transcript(stores, limit=7)
    assert [m.seq for m in messages] == list(range(1, 81))
    turns = [messages[start : start + 4] for start in range(0, 80, 4)]
    for turn in turns:
        assert [m.role for m in turn] == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.TOOL]
        assert len({m.content for m in turn if m.role is not Role.ASSISTANT}) == 1
        assert open_calls(turn) == set()
    said = [turn[0].content for turn in turns]
    for name in ("a", "b"):
        own = [text for text in said if text.startswith(name)]
        assert own == [f"{name} {n}" for n in range(10)]
    assert existing(stores).message_count == 80


def test_conversation_of_any_size_reads_back_whole(stores: Stores) -> None:
    """T81: 5 MB of turns, of which one tool result has 390 KB."""
    # Given turns of 250 KB of text that does not compress, and a large tool result
    noise = random.Random(81)
    lease = acquire(stores)
    written = []
    for turn in range(20):
        asked = message(2 * turn + 1, noise.randbytes(125_000).hex())
        answer = message(2 * turn + 2, "noted", Role.ASSISTANT)
        stores.conversations.append(USER, lease, [asked, answer], at=NOW)
        written += [asked, answer]
    large = tool_round(41, 1, "é" * 195_000)
    stores.conversations.append(USER, lease, large, at=NOW)
    written += large

    # When the transcript is read
    pages = []
    request = PageRequest(limit=100)
    while True:
        page = stores.conversations.messages(USER, "c1", request)
        pages.append(list(page.items))
        if page.next_position is None:
            break
        request = PageRequest(limit=100, position=page.next_position)

    # Then nothing is missing or changed, and each page ends by 4 MB, not long before
    assert [one for page in pages for one in page] == written
    assert len(pages) == 2
    sizes = [sum(size_of(one) for one in page) for page in pages]
    assert MAX_PAGE_BYTES - 250_000 < sizes[0] <= MAX_PAGE_BYTES
    found = stores.conversations.get_messages(USER, [("c1", large[1].id)])
    assert found == {("c1", large[1].id): large[1]}


def test_page_starts_after_a_place_and_ends_at_its_limit(stores: Stores) -> None:
    # Given eight messages
    written = say(stores, *(f"text {n}" for n in range(1, 9)))

    # When parts are asked for
    def page(limit: int, after_seq: int = 0) -> tuple[list[Message], bool]:
        found = stores.conversations.messages(
            USER, "c1", PageRequest(limit=limit), after_seq=after_seq
        )
        return list(found.items), found.next_position is not None

    # Then each has what was asked for and says whether there is more
    assert page(3) == (written[:3], True)
    assert page(3, after_seq=5) == (written[5:], False)
    assert page(8) == (written, False)
    assert page(8, after_seq=8) == ([], False)
    assert page(8, after_seq=10**11) == ([], False)


@pytest.mark.parametrize("position", [{"after": "x"}, {"after": "-1"}, {"SK": "M#1"}, {}])
def test_position_of_no_transcript_is_refused(stores: Stores, position: dict[str, str]) -> None:
    # Given a conversation
    say(stores, "hello")

    # When a position is sent that no page of it gave out
    with pytest.raises(ValidationError) as failure:
        stores.conversations.messages(USER, "c1", PageRequest(position=position))

    # Then it is a cursor error
    assert failure.value.code == "invalid_cursor"


def test_many_messages_at_once_are_all_stored(stores: Stores) -> None:
    # Given 250 messages of the user, more than one transaction takes, each to be searchable
    lease = acquire(stores)
    written = [message(n) for n in range(1, 251)]

    # When they are appended in one call
    stores.conversations.append(USER, lease, written, at=NOW, index=True)

    # Then all are there, and each is marked
    assert transcript(stores) == [m.model_copy(update={"searchable": True}) for m in written]
    assert len(stores.memory.pending(USER)) == 250
    assert existing(stores).message_count == 250


def test_only_the_users_messages_are_marked_to_be_indexed(stores: Stores) -> None:
    # Given a turn of question and answer
    lease = acquire(stores)
    turn = [message(1, "I like tea"), message(2, "Noted", Role.ASSISTANT)]

    # When it is stored as searchable
    stores.conversations.append(USER, lease, turn, at=later(seconds=1), index=True)

    # Then the question has a mark of its place; one that is not searchable has none
    stores.conversations.append(USER, lease, [message(3, "secret")], at=NOW)
    ref = f"c1/{turn[0].id}"
    assert stores.memory.pending(USER) == [
        Pending(DocumentKind.EPISODE, ref, 1, False, later(seconds=1))
    ]

    # And the transcript says so
    assert [each.searchable for each in transcript(stores)] == [True, False, False]


def test_message_is_found_by_its_own_id_only(stores: Stores) -> None:
    # Given messages in two conversations
    one, two = say(stores, "one", "two")
    [other] = say(stores, "other", conversation_id="c2")

    # When ids are asked for that are right, of another conversation, of nobody, or broken
    refs = [("c1", one.id), ("c1", two.id), ("c2", other.id)]
    wrong = [
        ("c2", one.id),
        ("c1", message_id(1, "forged")),
        ("c1", message_id(9, "x")),
        ("c1", "000000000000-x"),
        ("c1", "1"),
        ("c1", ""),
        ("c1", "00000000000²-x"),
        ("none", one.id),
    ]
    found = stores.conversations.get_messages(USER, wrong[:4] + refs + wrong)

    # Then only the right ones are found
    assert found == dict(zip(refs, [one, two, other], strict=True))


def test_more_messages_than_a_batch_are_found_at_once(stores: Stores) -> None:
    # Given 150 messages
    written = say(stores, *(f"text {n}" for n in range(150)))

    # When all are asked for by id
    found = stores.conversations.get_messages(USER, [("c1", one.id) for one in written])

    # Then all are found
    assert found == {("c1", one.id): one for one in written}


def test_more_tool_results_than_a_transaction_takes_are_refused(stores: Stores) -> None:
    # Given a message with as many tool calls as are legal, and one with one more
    lease = acquire(stores)
    legal = tool_round(1, MAX_TOOL_CALLS)

    # When both are appended, the second after a message that would fit
    stores.conversations.append(USER, lease, legal, at=NOW)
    with pytest.raises(ValidationError) as failure:
        stores.conversations.append(
            USER, lease, [message(92), *tool_round(93, MAX_TOOL_CALLS + 1)], at=NOW
        )

    # Then the first is stored, and nothing of the second
    assert failure.value.code == "too_many_tool_calls"
    assert transcript(stores) == legal
