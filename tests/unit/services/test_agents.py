"""Agents: drafts, publishing, sharing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import ALICE, BOB, World
from threadkeep.domain.agents import AgentChanges, AgentConfig, Visibility
from threadkeep.domain.budget import ModelLimits
from threadkeep.domain.models import Models
from threadkeep.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    PreconditionFailedError,
    ValidationError,
)
from threadkeep.ports import PageRequest
from threadkeep.services.agents import Agents


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def agents(world: World) -> Agents:
    return world.product.agents


def test_new_agent_is_a_draft_that_can_not_chat(agents: Agents) -> None:
    made = agents.create(ALICE, AgentConfig(name="Helper"))
    assert (made.status, made.has_draft, made.version, made.is_own) == ("draft", True, 1, True)
    with pytest.raises(ConflictError) as failure:
        agents.live(ALICE, made.id)
    assert failure.value.code == "agent_not_published"


def test_edits_stay_in_the_draft_until_published(agents: Agents) -> None:
    # given
    made = agents.create(ALICE, AgentConfig(name="Helper", system_prompt="old"))
    assert agents.publish(ALICE, made.id, None).has_draft is False
    # when
    edited = agents.edit(ALICE, made.id, AgentChanges(system_prompt="new"), None)
    # then
    assert (edited.system_prompt, edited.has_draft, edited.status) == ("new", True, "published")
    assert agents.live(ALICE, made.id).system_prompt == "old"
    agents.publish(ALICE, made.id, None)
    assert agents.live(ALICE, made.id).system_prompt == "new"


def test_put_replaces_only_the_fields_it_names_and_null_brings_the_default_back(
    agents: Agents,
) -> None:
    # given
    config = AgentConfig(
        name="Helper", persona="calm", max_iterations=9, model_id="openai:small", enable_memory=True
    )
    made = agents.create(ALICE, config)
    # when
    changes = AgentChanges.model_validate(
        {"name": None, "max_iterations": None, "model_id": None, "persona": "brisk"}
    )
    edited = agents.edit(ALICE, made.id, changes, None)
    # then
    assert edited.name == "Helper"
    assert (edited.max_iterations, edited.model_id, edited.persona) == (5, None, "brisk")
    assert edited.enable_memory is True


def test_edit_that_changes_nothing_makes_no_version(agents: Agents) -> None:
    made = agents.create(ALICE, AgentConfig(name="Helper"))
    assert agents.edit(ALICE, made.id, AgentChanges(name="Helper"), None) == made
    published = agents.publish(ALICE, made.id, None)
    assert agents.publish(ALICE, made.id, None) == published


def test_if_match_guards_every_change(agents: Agents) -> None:
    # given
    made = agents.create(ALICE, AgentConfig(name="Helper"))
    agents.edit(ALICE, made.id, AgentChanges(name="Second"), [made.version])
    # when
    stale: list[Any] = [
        lambda: agents.edit(ALICE, made.id, AgentChanges(name="Third"), [made.version]),
        lambda: agents.publish(ALICE, made.id, [made.version]),
        lambda: agents.delete(ALICE, made.id, [made.version]),
    ]
    # then
    for change in stale:
        with pytest.raises(PreconditionFailedError) as failure:
            change()
        assert failure.value.extra == {"current_version": 2}
    assert agents.get(ALICE, made.id).name == "Second"


def test_edit_that_loses_a_race_is_made_on_what_won(
    world: World, agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    # given another edit between the read and the write of this one
    made = agents.create(ALICE, AgentConfig(name="Helper"))
    put = world.agent_store.put
    raced = False

    def racing(*args: Any, **options: Any) -> None:
        nonlocal raced
        if not raced:
            raced = True
            agents.edit(ALICE, made.id, AgentChanges(duties="by the other"), None)
        put(*args, **options)

    monkeypatch.setattr(world.agent_store, "put", racing)
    # when
    edited = agents.edit(ALICE, made.id, AgentChanges(persona="by this one"), None)
    # then
    assert (edited.persona, edited.duties) == ("by this one", "by the other")
    assert edited.version == 3


def test_private_agent_does_not_exist_for_others(agents: Agents) -> None:
    made = agents.create(ALICE, AgentConfig(name="Helper"))
    agents.publish(ALICE, made.id, None)
    for attempt in (
        lambda: agents.get(BOB, made.id),
        lambda: agents.live(BOB, made.id),
        lambda: agents.edit(BOB, made.id, AgentChanges(name="x"), None),
        lambda: agents.delete(BOB, made.id, None),
    ):
        with pytest.raises(NotFoundError):
            attempt()
    assert agents.list(BOB, PageRequest()).items == []


def test_shared_agent_shows_others_what_is_live_and_lets_only_its_owner_change_it(
    agents: Agents,
) -> None:
    # given
    config = AgentConfig(name="Shared", visibility=Visibility.SHARED, system_prompt="live")
    made = agents.create(ALICE, config)
    agents.publish(ALICE, made.id, None)
    agents.edit(ALICE, made.id, AgentChanges(system_prompt="draft"), None)
    # when
    seen = agents.get(BOB, made.id)
    # then
    assert (seen.system_prompt, seen.has_draft, seen.is_own) == ("live", False, False)
    assert ALICE not in seen.model_dump_json()
    for attempt in (
        lambda: agents.edit(BOB, made.id, AgentChanges(name="x"), None),
        lambda: agents.publish(BOB, made.id, None),
        lambda: agents.delete(BOB, made.id, None),
    ):
        with pytest.raises(ForbiddenError) as failure:
            attempt()
        assert failure.value.code == "not_agent_owner"


def test_sharing_counts_once_it_is_published(agents: Agents) -> None:
    made = agents.create(ALICE, AgentConfig(name="Soon", visibility=Visibility.SHARED))
    with pytest.raises(NotFoundError):
        agents.get(BOB, made.id)
    agents.publish(ALICE, made.id, None)
    assert agents.get(BOB, made.id).name == "Soon"
    agents.edit(ALICE, made.id, AgentChanges(visibility=Visibility.PRIVATE), None)
    agents.publish(ALICE, made.id, None)
    with pytest.raises(NotFoundError):
        agents.get(BOB, made.id)


def test_list_pages_through_own_and_shared_agents_newest_first(agents: Agents) -> None:
    # given
    ids = []
    for number in range(5):
        owner = BOB if number == 2 else ALICE
        config = AgentConfig(name=f"A{number}", visibility=Visibility.SHARED)
        ids.append(agents.create(owner, config).id)
        agents.publish(owner, ids[-1], None)
    # when
    seen = []
    position = None
    while True:
        page = agents.list(ALICE, PageRequest(limit=2, position=position, with_total=True))
        seen += [agent.id for agent in page.items]
        assert page.total == 5
        position = page.next_position
        if position is None:
            break
    # then
    assert seen == ids[::-1]
    skipped = agents.list(ALICE, PageRequest(limit=2, skip=3))
    assert [agent.id for agent in skipped.items] == [ids[1], ids[0]]


def test_paging_is_not_disturbed_by_a_new_agent(agents: Agents) -> None:
    first, second = (agents.create(ALICE, AgentConfig(name=n)).id for n in ("one", "two"))
    page = agents.list(ALICE, PageRequest(limit=1))
    agents.create(ALICE, AgentConfig(name="three"))
    rest = agents.list(ALICE, PageRequest(limit=5, position=page.next_position))
    assert [a.id for a in page.items] + [a.id for a in rest.items] == [second, first]


def test_deleted_agent_is_gone(agents: Agents) -> None:
    made = agents.create(ALICE, AgentConfig(name="Helper"))
    agents.delete(ALICE, made.id, [1])
    with pytest.raises(NotFoundError):
        agents.get(ALICE, made.id)


@pytest.mark.parametrize("model", ["openai:unheard-of", "bedrock:x", "gpt-4", "OFFLINE"])
def test_unknown_model_is_refused_when_the_agent_is_saved(agents: Agents, model: str) -> None:
    with pytest.raises(ValidationError) as failure:
        agents.create(ALICE, AgentConfig(name="x", model_id=model))
    assert failure.value.code == "unknown_model"
    assert failure.value.fields[0]["field"] == "model_id"
    made = agents.create(ALICE, AgentConfig(name="x"))
    with pytest.raises(ValidationError):
        agents.edit(ALICE, made.id, AgentChanges(model_id=model), None)
    assert agents.get(ALICE, made.id).model_id is None


@pytest.mark.parametrize("model", ["offline", "openai:small", None])
def test_known_model_is_accepted(agents: Agents, model: str | None) -> None:
    assert agents.create(ALICE, AgentConfig(name="x", model_id=model)).model_id == model


def test_default_model_need_not_be_published(world: World) -> None:
    models = Models("bedrock:default", {})
    agents = Agents(world.agent_store, models, world.clock, world.ids)
    made = agents.create(ALICE, AgentConfig(name="x", model_id="bedrock:default"))
    assert made.model_id == "bedrock:default"


def test_model_without_room_for_a_request_is_refused(agents: Agents) -> None:
    with pytest.raises(ValidationError) as failure:
        agents.create(ALICE, AgentConfig(name="x", model_id="openai:tiny"))
    assert failure.value.code == "model_window_too_small"


def test_draft_whose_model_was_withdrawn_can_not_be_published(world: World) -> None:
    published = {"openai:once": ModelLimits()}
    agents = Agents(world.agent_store, Models("offline", published), world.clock, world.ids)
    made = agents.create(ALICE, AgentConfig(name="x", model_id="openai:once"))
    published.clear()
    with pytest.raises(ValidationError):
        agents.publish(ALICE, made.id, None)
