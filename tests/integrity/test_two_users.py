"""Random operations of two users against a simple model: every surface agrees, nothing crosses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.indexing import index_pending
from tests.memory_world import MemoryWorld
from threadkeep.domain.names import name_key

if TYPE_CHECKING:
    from tests.gateway import Gateway

USERS = ("u1", "u10")
"""One's id is the start of the other's."""

TYPES = ("person", "concept")
AWKWARD = (
    "U#u10#E#1",
    "a/b",
    "100%",
    "%23",
    "*",
    "..",
    "\x00",
    "ﷺ" * 255,
    "ß" * 255,
    "İstanbul",
    "ﬁnal",
    "e\u0301",
    "👩\u200d👩\u200d👧",
    "مرحبا",
    "self",
)
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
names = st.one_of(
    st.sampled_from(AWKWARD), st.sampled_from(["Acme", "acme ", "Ann", "Anna"]), words
).filter(lambda text: text.strip() and name_key(text) != "you")
users = st.sampled_from(USERS)
properties = st.dictionaries(st.sampled_from(["a", "b", "user_id"]), st.integers(0, 3), max_size=2)


class TwoUsers(RuleBasedStateMachine):
    """Calls the API, and does the same to dictionaries."""

    def __init__(self) -> None:
        super().__init__()
        self.world = MemoryWorld()
        self.patch = pytest.MonkeyPatch()
        self.entities: dict[str, dict[str, dict[str, Any]]] = {user: {} for user in USERS}
        self.relations: dict[str, dict[str, tuple[str, str, str]]] = {user: {} for user in USERS}
        self.dead: list[str] = []

    @initialize()
    def connect(self) -> None:
        """Put the world behind the gateway."""
        self.api: Gateway = self.world.gateway(self.patch)

    def teardown(self) -> None:
        """Take it away again."""
        self.patch.undo()

    @rule(user=users, name=names, kind=st.sampled_from(TYPES), given=properties)
    def create(self, user: str, name: str, kind: str, given: dict[str, int]) -> None:
        """Create or merge."""
        body = {"name": name, "entity_type": kind, "properties": given}
        reply = self.api.post("/memories/entities", body, user=user)
        held = self.holder(user, name, kind)
        if held is None:
            assert reply.status == 201
            assert reply.body["id"] not in {*self.everything(), *self.dead}
            self.entities[user][reply.body["id"]] = {
                "name": name,
                "entity_type": kind,
                "properties": dict(given),
                "version": 1,
            }
            return
        assert (reply.status, reply.body["id"]) == (200, held)
        known = self.entities[user][held]
        merged = {**known["properties"], **given}
        known["version"] += merged != known["properties"]
        known["properties"] = merged

    @rule(user=users, name=names, pick=st.integers(0, 99))
    def rename(self, user: str, name: str, pick: int) -> None:
        """Rename, which fails if the name is taken."""
        entity_id = self.picked(self.entities[user], pick)
        if entity_id is None:
            return
        known = self.entities[user][entity_id]
        reply = self.api.put(f"/memories/entities/{entity_id}", {"name": name}, user=user)
        held = self.holder(user, name, known["entity_type"])
        if held not in (None, entity_id):
            assert (reply.status, reply.code) == (409, "name_taken")
            return
        assert reply.status == 200
        known["version"] += known["name"] != name
        known["name"] = name

    @rule(user=users, pick=st.integers(0, 99), given=properties)
    def replace(self, user: str, pick: int, given: dict[str, int]) -> None:
        """Replace properties as a whole, if the version is the one that was seen."""
        entity_id = self.picked(self.entities[user], pick)
        if entity_id is None:
            return
        known, path = self.entities[user][entity_id], f"/memories/entities/{entity_id}"
        body = {"properties": given}
        stale = f'"v{known["version"] + 1}"'
        assert self.api.put(path, body, user=user, headers={"If-Match": stale}).status == 412
        fresh = f'W/"v{known["version"]}"'
        assert self.api.put(path, body, user=user, headers={"If-Match": fresh}).status == 200
        known["version"] += known["properties"] != given
        known["properties"] = dict(given)

    @rule(user=users, pick=st.integers(0, 99))
    def delete(self, user: str, pick: int) -> None:
        """Delete an entity, which takes its relations along."""
        entity_id = self.picked(self.entities[user], pick)
        if entity_id is None:
            return
        assert self.api.delete(f"/memories/entities/{entity_id}", user=user).status == 204
        del self.entities[user][entity_id]
        self.dead.append(entity_id)
        relations = self.relations[user]
        for relation_id in [i for i, (a, _, b) in relations.items() if entity_id in (a, b)]:
            del relations[relation_id]
            self.dead.append(relation_id)

    @rule(
        user=users,
        pick=st.integers(0, 99),
        other=st.integers(0, 99),
        kind=st.sampled_from(["knows", "uses", "works_at"]),
    )
    def relate(self, user: str, pick: int, other: int, kind: str) -> None:
        """Relate two entities; another employer takes the place of the one before."""
        source = self.picked(self.entities[user], pick)
        target = self.picked(self.entities[user], other)
        if source is None or target is None:
            return
        body = {"source_entity_id": source, "target_entity_id": target, "relation_type": kind}
        reply = self.api.post("/memories/relations", body, user=user)
        relations = self.relations[user]
        if source == target:
            assert (reply.status, reply.code) == (422, "self_relation")
            return
        held = [i for i, triple in relations.items() if triple == (source, kind, target)]
        assert reply.status == (200 if held else 201)
        if held:
            assert reply.body["id"] == held[0]
            return
        if kind == "works_at":
            for i in [i for i, (a, k, _) in relations.items() if (a, k) == (source, kind)]:
                del relations[i]
        relations[reply.body["id"]] = (source, kind, target)

    @rule(user=users, pick=st.integers(0, 99))
    def unrelate(self, user: str, pick: int) -> None:
        """Delete a relation."""
        relation_id = self.picked(self.relations[user], pick)
        if relation_id is None:
            return
        assert self.api.delete(f"/memories/relations/{relation_id}", user=user).status == 204
        del self.relations[user][relation_id]
        self.dead.append(relation_id)

    @rule(pick=st.integers(0, 99))
    def trespass(self, pick: int) -> None:
        """T51: what is someone else's is not there, however it is asked for."""
        mine, theirs = USERS[pick % 2], USERS[1 - pick % 2]
        entity_id = self.picked(self.entities[theirs], pick)
        if entity_id is None:
            return
        path = f"/memories/entities/{entity_id}"
        replies = [
            self.api.get(path, user=mine),
            self.api.get(f"{path}/history", user=mine),
            self.api.put(path, {"name": "stolen"}, user=mine),
            self.api.delete(path, user=mine),
            self.api.get("/memories/graph", user=mine, query={"entity_ids": entity_id}),
        ]
        own = self.picked(self.entities[mine], pick)
        if own is not None:
            ends = {"source_entity_id": own, "target_entity_id": entity_id}
            body = {**ends, "relation_type": "knows"}
            replies.append(self.api.post("/memories/relations", body, user=mine))
        assert {(reply.status, reply.code) for reply in replies} == {(404, "not_found")}
        listed = self.api.get("/memories/relations", user=mine, query={"entity_id": entity_id})
        assert listed.body["items"] == []

    @rule()
    def index(self) -> None:
        """Let the index catch up."""
        for user in USERS:
            index_pending(self.world.product, user)

    @invariant()
    def every_surface_agrees(self) -> None:
        """Listing, reading, graph and search show what the model holds, and no more."""
        if not hasattr(self, "api"):
            return
        for user in USERS:
            known, relations = self.entities[user], self.relations[user]
            listed = self.pages("/memories/entities", user)
            assert {
                item["id"]: {key: item[key] for key in ("name", "entity_type", "properties")}
                | {"version": item["version"]}
                for item in listed
            } == known
            assert len(listed) == len(known)
            edges = self.pages("/memories/relations", user)
            assert {
                e["id"]: (e["source_entity_id"], e["relation_type"], e["target_entity_id"])
                for e in edges
            } == relations
            graph = self.api.get("/memories/graph", user=user).body
            assert {entity["id"] for entity in graph["entities"]} == known.keys()
            assert {relation["id"] for relation in graph["relations"]} == relations.keys()
            found = self.api.post("/memories/search", {"query": "Acme Ann", "top_k": 50}, user=user)
            assert {hit["id"] for hit in found.body["entities"]} == known.keys()
        for gone in self.dead[-3:]:
            for user in USERS:
                assert self.api.get(f"/memories/entities/{gone}", user=user).status == 404
                assert self.api.get(f"/memories/relations/{gone}", user=user).status == 404

    def pages(self, path: str, user: str) -> list[dict[str, Any]]:
        """Read all pages, three items each, and compare with the exact total."""
        items: list[dict[str, Any]] = []
        query = {"limit": "3"}
        while True:
            page = self.api.get(path, user=user, query=query).body
            items += page["items"]
            if "next_cursor" not in page:
                break
            query = {"limit": "3", "cursor": page["next_cursor"]}
        numbered = self.api.get(path, user=user, query={"page": "1", "page_size": "1"}).body
        assert numbered["total"] == len(items)
        return items

    def holder(self, user: str, name: str, kind: str) -> str | None:
        """Return who holds a name in the model."""
        wanted = (name_key(name), kind)
        for entity_id, known in self.entities[user].items():
            if (name_key(known["name"]), known["entity_type"]) == wanted:
                return entity_id
        return None

    def everything(self) -> set[str]:
        """Return all ids of the model."""
        return {i for user in USERS for i in (*self.entities[user], *self.relations[user])}

    @staticmethod
    def picked(among: dict[str, Any], pick: int) -> str | None:
        """Return one of the ids, the same for the same number."""
        return sorted(among)[pick % len(among)] if among else None


TwoUsers.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
test_every_surface_agrees_and_nothing_crosses = TwoUsers.TestCase
