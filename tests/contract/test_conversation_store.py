"""What every conversation store does: heads, leases and lists."""

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
    transcript,
)
from threadkeep.domain.conversations import Role
from threadkeep.errors import ConflictError, ValidationError
from threadkeep.ports import PageRequest


@pytest.fixture(params=KINDS)
def stores(request: pytest.FixtureRequest) -> Stores:
    """Every kind of stores in turn, empty."""
    return open_stores(request)


def test_first_lease_creates_the_conversation(stores: Stores) -> None:
    # Given a conversation that nobody wrote to
    begun = conversation("t:1", agent_id="a1", title="Plans")
    assert stores.conversations.get(USER, "t:1") is None

    # When its first writer takes the lease
    lease = stores.conversations.acquire(USER, begun, now=NOW, until=later(seconds=60))

    # Then it is there as described, empty, and the lease is of its life
    assert stores.conversations.get(USER, "t:1") == begun
    assert lease is not None
    assert (lease.life, lease.token, lease.expires_at) == (begun.life, 1, later(seconds=60))
    assert transcript(stores, "t:1") == []
    assert [c.id for c in stores.conversations.list(USER, PageRequest()).items] == ["t:1"]


def test_second_writer_is_refused_while_a_lease_runs(stores: Stores) -> None:
    # Given a lease of a minute
    acquire(stores)
    other = conversation(title="another")

    # When another writer asks just before its end
    refused = stores.conversations.acquire(
        USER, other, now=later(seconds=59.9), until=later(seconds=120)
    )

    # Then it gets none, and the conversation is the first writer's
    assert refused is None
    assert existing(stores).title == ""


def test_released_lease_is_free_and_writes_no_more(stores: Stores) -> None:
    # Given a lease that was given back
    lease = acquire(stores)
    stores.conversations.release(USER, lease)

    # When it is used all the same
    with pytest.raises(ConflictError) as failure:
        stores.conversations.append(USER, lease, [message(1)], at=NOW)

    # Then nothing is stored, and the next writer has a higher token of the same life
    assert failure.value.code == "lease_lost"
    assert transcript(stores) == []
    following = acquire(stores)
    assert (following.life, following.token) == (lease.life, lease.token + 1)


def test_expired_lease_is_taken_over_and_its_holder_fenced_off(stores: Stores) -> None:
    # Given a holder that stored its question and then hung past its time
    late = acquire(stores, seconds=60)
    stores.conversations.append(USER, late, [message(1, "asked")], at=NOW)
    new = acquire(stores, now=later(seconds=60))
    assert new.token > late.token

    # When it wakes up and goes on writing, before and after the new holder wrote
    with pytest.raises(ConflictError) as before:
        stores.conversations.append(USER, late, [message(2, "late")], at=later(seconds=61))
    stores.conversations.append(USER, new, [message(2, "new")], at=later(seconds=62))
    with pytest.raises(ConflictError) as after:
        stores.conversations.append(USER, late, [message(3, "late")], at=later(seconds=63))

    # Then nothing of it is stored, and giving its lease back takes nothing from the new holder
    assert (before.value.code, after.value.code) == ("lease_lost", "lease_lost")
    stores.conversations.release(USER, late)
    assert [m.content for m in transcript(stores)] == ["asked", "new"]
    assert (
        stores.conversations.acquire(
            USER, conversation(), now=later(seconds=64), until=later(seconds=99)
        )
        is None
    )


def test_turn_past_its_time_can_store_how_it_ended_while_nobody_took_over(stores: Stores) -> None:
    # Given a lease that ran out, with no other writer
    lease = acquire(stores, seconds=60)

    # When its holder writes
    stores.conversations.append(USER, lease, [message(1)], at=later(seconds=90))

    # Then it is stored: nobody else can have written
    assert len(transcript(stores)) == 1


def test_one_of_many_writers_gets_the_lease(stores: Stores) -> None:
    # Given eight writers that ask at the same time
    heads = [conversation(title=f"writer {i}") for i in range(8)]

    # When they race for a new conversation
    with ThreadPoolExecutor(8) as pool:
        leases = list(
            pool.map(
                lambda head: stores.conversations.acquire(
                    USER, head, now=NOW, until=later(seconds=60)
                ),
                heads,
            )
        )

    # Then one has it, and the conversation began with that one's head
    [winner] = [lease for lease in leases if lease is not None]
    assert existing(stores) == next(head for head in heads if head.life == winner.life)


def test_head_tells_where_the_transcript_stands(stores: Stores) -> None:
    # Given a conversation with a turn
    lease = acquire(stores)
    turn = [message(1, "  Where is\nmy  order? "), message(2, "On its way.", Role.ASSISTANT)]

    # When the turn is stored, message by message
    for place, one in enumerate(turn):
        stores.conversations.append(USER, lease, [one], at=later(seconds=place))

    # Then the head counts them, and is titled by the user's words
    head = existing(stores)
    assert head.title == "Where is my order?"
    assert (head.message_count, head.next_seq, head.version) == (2, 3, 3)
    assert head.active_leaf_id == turn[1].id
    assert head.last_activity_at == later(seconds=1)
    assert head.created_at == NOW


def test_title_stays_as_it_was_first_set(stores: Stores) -> None:
    # Given a conversation with a title
    say(stores, "first words")

    # When more is said
    say(stores, "other words")

    # Then it keeps its title
    assert existing(stores).title == "first words"


def test_rename_makes_a_version_of_the_one_expected(stores: Stores) -> None:
    # Given a conversation at version 2
    say(stores, "first words")

    # When it is renamed, then again by someone who has not seen that
    renamed = stores.conversations.rename(USER, "c1", "Orders", expected_version=2)
    with pytest.raises(ConflictError):
        stores.conversations.rename(USER, "c1", "Mine", expected_version=2)

    # Then the first stays, also when more is said
    assert renamed == existing(stores)
    assert (existing(stores).title, existing(stores).version) == ("Orders", 3)
    say(stores, "other words")
    assert existing(stores).title == "Orders"
    assert stores.conversations.rename(USER, "none", "x", expected_version=1) is None


def test_watermark_moves_by_compare_and_set_and_never_back(stores: Stores) -> None:
    # Given a conversation whose watermark stands at 2
    say(stores, "one", "two", "three")
    life = existing(stores).life
    move = stores.conversations.advance_extracted
    assert move(USER, "c1", life, from_seq=0, to_seq=2)

    # When others try to move it from elsewhere, backwards, or in another life
    others = [
        move(USER, "c1", life, from_seq=0, to_seq=3),
        move(USER, "c1", life, from_seq=2, to_seq=1),
        move(USER, "c1", "another life", from_seq=2, to_seq=3),
        move(USER, "none", life, from_seq=0, to_seq=1),
        move("u2", "c1", life, from_seq=2, to_seq=3),
    ]

    # Then none does, and the version is what it was: this is no content
    assert others == [False] * 5
    assert existing(stores).extracted_seq == 2
    assert existing(stores).version == 2


def test_list_is_by_activity_and_paged_without_gaps(stores: Stores) -> None:
    # Given seven conversations, one of which was active again last
    for number in range(7):
        say(stores, "hello", conversation_id=f"c{number}", at=later(minutes=number))
    say(stores, "again", conversation_id="c2", at=later(hours=1))

    # When they are listed three by three
    pages = []
    request = PageRequest(limit=3, with_total=True)
    while True:
        page = stores.conversations.list(USER, request)
        pages.append([one.id for one in page.items])
        if page.next_position is None:
            break
        request = PageRequest(limit=3, position=page.next_position)

    # Then each is there once, newest activity first, and the total is exact
    assert pages == [["c2", "c6", "c5"], ["c4", "c3", "c1"], ["c0"]]
    first = stores.conversations.list(USER, PageRequest(limit=3, with_total=True))
    assert first.total == 7
    assert first.items[0] == existing(stores, "c2")
    skipped = stores.conversations.list(USER, PageRequest(limit=2, skip=3))
    assert [one.id for one in skipped.items] == ["c4", "c3"]


def test_position_of_another_listing_is_refused(stores: Stores) -> None:
    # Given a page position that no listing of conversations gave out
    say(stores, "hello")
    forged = {"SK": "E#e1", "L1": "E#2026"}

    # When it is sent
    with pytest.raises(ValidationError) as failure:
        stores.conversations.list(USER, PageRequest(position=forged))

    # Then it is a cursor error
    assert failure.value.code == "invalid_cursor"


def test_nobody_sees_another_users_conversations(stores: Stores) -> None:
    # Given users whose ids are prefixes of each other, with the same conversation id
    said = {user: say(stores, f"of {user}", user=user) for user in ("u1", "u10", "u1#T")}

    # When each reads
    # Then each finds its own
    for user, messages in said.items():
        assert transcript(stores, user=user) == messages
        listed = stores.conversations.list(user, PageRequest(with_total=True))
        assert (len(listed.items), listed.total) == (1, 1)
        refs = [("c1", one.id) for other in said.values() for one in other]
        found = stores.conversations.get_messages(user, refs)
        assert list(found.values()) == messages
    assert stores.conversations.get("u", "c1") is None


def test_only_messages_appended_to_be_searched_are_listed_as_indexed(stores: Stores) -> None:
    # Given a conversation of which some turns were made searchable
    say(stores, "not yet")
    lease = acquire(stores, now=later(hours=1))
    spoken = [message(2, "yes"), message(3, "an answer", Role.ASSISTANT), message(4, "and this")]
    stores.conversations.append(USER, lease, spoken, at=NOW, index=True)
    say(stores, "another's", user="u10", index=True)

    # Then those are listed in order, the user's only
    assert stores.conversations.indexed(USER, "c1") == [spoken[0].id, spoken[2].id]
    assert stores.conversations.indexed(USER, "none") == []
