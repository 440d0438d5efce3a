"""What every agent store does."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.contract.stores import KINDS, NOW, later
from tests.fakes.agents import FakeAgentStore
from threadkeep.domain.agents import Agent, AgentConfig, MemoryConfig, Visibility
from threadkeep.domain.limits import MAX_DESCRIPTION_BYTES, MAX_MESSAGE_BYTES
from threadkeep.errors import ConflictError
from threadkeep.ports import AgentStore
from threadkeep.storage.agents import DynamoAgentStore


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest) -> AgentStore:
    """Every agent store in turn, empty."""
    if request.param == "fake":
        return FakeAgentStore()
    return DynamoAgentStore(request.getfixturevalue("table"))


def agent(agent_id: str = "a1", owner: str = "u1", **fields: Any) -> Agent:
    """Make an agent that was never published."""
    values = {"draft": AgentConfig(name=f"name of {agent_id}")} | fields
    times = {"created_at": NOW, "updated_at": NOW}
    return Agent(id=agent_id, owner_id=owner, **(times | values))


def published(one: Agent, visibility: Visibility = Visibility.PRIVATE) -> Agent:
    """Return the next version of an agent, its draft live with a visibility."""
    live = one.draft.model_copy(update={"visibility": visibility})
    return one.model_copy(update={"draft": live, "live": live, "version": one.version + 1})


def full_config() -> AgentConfig:
    """Make a configuration of the largest size, in text that JSON would double."""
    return AgentConfig(
        name="n" * 255,
        description='"' * MAX_DESCRIPTION_BYTES,
        model_id="offline",
        system_prompt="{{x}} " + '"' * (MAX_MESSAGE_BYTES - 6),
        persona='"' * MAX_DESCRIPTION_BYTES,
        duties='"' * MAX_DESCRIPTION_BYTES,
        max_iterations=200,
        visibility=Visibility.SHARED,
        enable_memory=True,
        index_turns=False,
        memory_config=MemoryConfig(
            importance_threshold=0.1234567890123,
            retrieval_mode="hybrid",
            recency_weight=0.15,
            custom_instructions='"' * MAX_DESCRIPTION_BYTES,
        ),
    )


def test_agent_reads_back_as_stored(store: AgentStore) -> None:
    # Given an agent of which draft and live differ, both as large as can be
    full = full_config()
    one = agent(draft=full, live=full.model_copy(update={"name": "live"}), version=7)

    # When it is stored
    store.put(one, expected_version=None)

    # Then its owner reads it back equal
    assert store.get("u1", "a1") == one
    assert list(store.list("u1")) == [one]
    assert store.get("u1", "none") is None


def test_agent_is_stored_over_the_expected_version_only(store: AgentStore) -> None:
    # Given an agent at version 2
    first = agent()
    store.put(first, expected_version=None)
    second = published(first)
    store.put(second, expected_version=1)

    # When writers come that expect another, or none
    other = second.model_copy(update={"draft": AgentConfig(name="other"), "version": 3})
    for expected in (None, 1, 3):
        with pytest.raises(ConflictError):
            store.put(other, expected_version=expected)

    # Then it is as it was
    assert store.get("u1", "a1") == second


def test_of_many_editors_one_wins_each_version(store: AgentStore) -> None:
    # Given eight editors that have read the same version
    one = agent()
    store.put(one, expected_version=None)

    def edit(number: int) -> bool:
        draft = AgentConfig(name=f"editor {number}")
        try:
            store.put(one.model_copy(update={"draft": draft, "version": 2}), expected_version=1)
        except ConflictError:
            return False
        return True

    # When all save
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(edit, range(8)))

    # Then one did
    assert won.count(True) == 1
    stored = store.get("u1", "a1")
    assert stored is not None
    assert stored.draft.name == f"editor {won.index(True)}"


def test_private_agent_is_its_owners_alone(store: AgentStore) -> None:
    # Given a draft that wants to be shared, and a live agent that is private
    wish = AgentConfig(name="wish", visibility=Visibility.SHARED)
    store.put(agent("a1", draft=wish), expected_version=None)
    store.put(published(agent("a2")), expected_version=None)

    # When others look
    # Then they see neither
    for user in ("u10", "u", "U1"):
        assert list(store.list(user)) == []
        assert store.get(user, "a1") is None
        assert store.get(user, "a2") is None


def test_shared_agent_is_seen_by_all_as_it_is_live(store: AgentStore) -> None:
    # Given a shared agent with a newer draft
    shared = published(agent(), Visibility.SHARED)
    store.put(shared, expected_version=None)
    edited = shared.model_copy(update={"draft": AgentConfig(name="secret"), "version": 3})
    store.put(edited, expected_version=2)

    # When its owner and another read it
    own, theirs = store.get("u1", "a1"), store.get("u2", "a1")

    # Then the draft is the owner's alone
    assert own == edited
    assert theirs == edited.model_copy(update={"draft": edited.live})
    assert list(store.list("u1")) == [edited]
    assert list(store.list("u2")) == [theirs]


def test_agent_that_is_no_longer_shared_is_gone_for_others(store: AgentStore) -> None:
    # Given a shared agent
    shared = published(agent(), Visibility.SHARED)
    store.put(shared, expected_version=None)

    # When it is published as private
    private = published(shared, Visibility.PRIVATE)
    store.put(private, expected_version=2)

    # Then only its owner has it
    assert store.get("u1", "a1") == private
    assert store.get("u2", "a1") is None
    assert list(store.list("u2")) == []


def test_list_is_newest_first_each_once(store: AgentStore) -> None:
    # Given own and shared agents of several ages
    made = [
        published(agent("b", "u1", created_at=later(hours=2)), Visibility.SHARED),
        published(agent("a", "u2", created_at=later(hours=3)), Visibility.SHARED),
        agent("c", "u1", created_at=later(hours=1)),
        agent("d", "u1", created_at=later(hours=1)),
        agent("e", "u2", created_at=later(hours=4)),
    ]
    for one in made:
        store.put(one, expected_version=None)

    # When they are listed
    # Then each user's are in order
    assert [one.id for one in store.list("u1")] == ["a", "b", "d", "c"]
    assert [one.id for one in store.list("u2")] == ["e", "a", "b"]


def test_deleted_agent_is_gone_everywhere(store: AgentStore) -> None:
    # Given a shared agent
    shared = published(agent(), Visibility.SHARED)
    store.put(shared, expected_version=None)

    # When it is deleted by someone who has not seen its newest version, then by one who has
    with pytest.raises(ConflictError):
        store.delete(agent())
    assert store.get("u2", "a1") is not None
    store.delete(shared)

    # Then nobody sees it, and doing so again is no error
    assert store.get("u1", "a1") is None
    assert store.get("u2", "a1") is None
    assert list(store.list("u1")) == []
    store.delete(shared)


def test_shared_agent_can_not_be_taken_over_under_its_id(store: AgentStore) -> None:
    # Given a shared agent
    shared = published(agent(), Visibility.SHARED)
    store.put(shared, expected_version=None)

    # When another user stores or deletes one of the same id
    foreign = published(agent("a1", "u2"), Visibility.SHARED)
    with pytest.raises(ConflictError):
        store.put(foreign, expected_version=None)
    with pytest.raises(ConflictError):
        store.delete(foreign)

    # Then it is as it was
    assert store.get("u3", "a1") == shared
    assert store.get("u1", "a1") == shared
