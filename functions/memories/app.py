"""Entities and relations over HTTP."""

from functools import lru_cache
from typing import Literal

from pydantic import Field

from threadkeep.bootstrap import Bootstrap
from threadkeep.domain.changes import HistoryEntry
from threadkeep.domain.entities import Entity, EntityChanges, EntityDraft, EntityType
from threadkeep.domain.extraction import Job
from threadkeep.domain.graph import Deletions, EntityDetail, EntityIds
from threadkeep.domain.relations import Relation, RelationChanges, RelationDraft, RelationType
from threadkeep.domain.types import Id
from threadkeep.http import Answer, Api, Listing, ListQuery, Request, listed, rest_handler

ENTITIES = "/memories/entities"
RELATIONS = "/memories/relations"

api = Api("memories")


@lru_cache
def bootstrap() -> Bootstrap:
    """Return the product; tests put another in its place."""
    return Bootstrap()


class EntitiesQuery(ListQuery):
    """Filters and order of the listing of entities."""

    entity_type: EntityType | None = None
    q: str | None = Field(
        default=None, min_length=1, max_length=255, description="Text in name or description."
    )
    sort: Literal["updated", "name"] = "updated"


class RelationsQuery(ListQuery):
    """Filters of the listing of relations."""

    entity_id: Id | None = Field(default=None, description="Entity at either end.")
    relation_type: RelationType | None = None


@api.get(ENTITIES, query=EntitiesQuery, response=Listing[Entity], admin_twin=True)
def list_entities(request: Request[None, EntitiesQuery]) -> Answer:
    """List entities, newest touched first or by name."""
    query, memories = request.query, bootstrap().memories
    kind, text = query.entity_type, query.q
    return listed(
        request,
        lambda page: memories.list(
            request.user_id, page, sort=query.sort, entity_type=kind, text=text
        ),
    )


@api.post(ENTITIES, body=EntityDraft, response=Entity, status=(201, 200), admin_twin=True)
def create_entity(request: Request[EntityDraft]) -> Answer:
    """Create an entity (201), or merge into the one of this name and type (200)."""
    entity, created = bootstrap().memories.create(request.user_id, request.body, request.origin)
    return Answer(entity, status=201 if created else 200)


@api.post(f"{ENTITIES}/batch-delete", body=EntityIds, response=Deletions, admin_twin=True)
def delete_entities(request: Request[EntityIds]) -> Answer:
    """Delete entities; the answer tells for each id what became of it."""
    results = bootstrap().memories.delete_many(request.user_id, request.body.ids)
    return Answer(Deletions(results=tuple(results)))


@api.get(f"{ENTITIES}/{{entity_id}}", response=EntityDetail, admin_twin=True)
def get_entity(request: Request) -> Answer:
    """Read an entity with its evidence and current relations."""
    return Answer(bootstrap().memories.get(request.user_id, request.path["entity_id"]))


@api.put(
    f"{ENTITIES}/{{entity_id}}",
    body=EntityChanges,
    response=Entity,
    versioned=True,
    admin_twin=True,
)
def update_entity(request: Request[EntityChanges]) -> Answer:
    """Replace the named fields of an entity; null clears one."""
    entity = bootstrap().memories.update(
        request.user_id, request.path["entity_id"], request.body, request.origin, request.if_match
    )
    return Answer(entity)


@api.delete(f"{ENTITIES}/{{entity_id}}", versioned=True, admin_twin=True)
def delete_entity(request: Request) -> Answer:
    """Delete an entity with its relations, evidence and history."""
    bootstrap().memories.delete(request.user_id, request.path["entity_id"], request.if_match)
    return Answer()


@api.get(
    f"{ENTITIES}/{{entity_id}}/history",
    query=ListQuery,
    response=Listing[HistoryEntry],
    admin_twin=True,
)
def list_entity_history(request: Request[None, ListQuery]) -> Answer:
    """List the changes of an entity, newest first."""
    memories, entity_id = bootstrap().memories, request.path["entity_id"]
    return listed(request, lambda page: memories.history(request.user_id, entity_id, page))


@api.get(RELATIONS, query=RelationsQuery, response=Listing[Relation], admin_twin=True)
def list_relations(request: Request[None, RelationsQuery]) -> Answer:
    """List current relations, newest updated first."""
    query, relations = request.query, bootstrap().relations
    at, kind = query.entity_id, query.relation_type
    return listed(
        request,
        lambda page: relations.list(request.user_id, page, entity_id=at, relation_type=kind),
    )


@api.post(RELATIONS, body=RelationDraft, response=Relation, status=(201, 200), admin_twin=True)
def create_relation(request: Request[RelationDraft]) -> Answer:
    """Create a relation (201), or merge into the current one between these ends (200)."""
    relation, created = bootstrap().relations.create(request.user_id, request.body, request.origin)
    return Answer(relation, status=201 if created else 200)


@api.get(f"{RELATIONS}/{{relation_id}}", response=Relation, admin_twin=True)
def get_relation(request: Request) -> Answer:
    """Read a relation, current or closed."""
    return Answer(bootstrap().relations.get(request.user_id, request.path["relation_id"]))


@api.put(
    f"{RELATIONS}/{{relation_id}}",
    body=RelationChanges,
    response=Relation,
    versioned=True,
    admin_twin=True,
)
def update_relation(request: Request[RelationChanges]) -> Answer:
    """Replace the named fields of a relation; `valid_to` closes it, null opens it again."""
    relation = bootstrap().relations.update(
        request.user_id,
        request.path["relation_id"],
        request.body,
        request.origin,
        request.if_match,
    )
    return Answer(relation)


@api.delete(f"{RELATIONS}/{{relation_id}}", versioned=True, admin_twin=True)
def delete_relation(request: Request) -> Answer:
    """Delete a relation with its history; its ends stay."""
    bootstrap().relations.delete(
        request.user_id, request.path["relation_id"], request.origin, request.if_match
    )
    return Answer()


@api.get("/memories/jobs", query=ListQuery, response=Listing[Job], admin_twin=True)
def list_jobs(request: Request[None, ListQuery]) -> Answer:
    """List extraction jobs, newest first."""
    extraction = bootstrap().extraction
    return listed(request, lambda page: extraction.jobs(request.user_id, page))


@api.get("/memories/jobs/{job_id}", response=Job, admin_twin=True)
def get_job(request: Request) -> Answer:
    """Read what an extraction job stored, merged and rejected, and why."""
    return Answer(bootstrap().extraction.job(request.user_id, request.path["job_id"]))


# Looked up at each call, so that tests can put another product in its place.
lambda_handler = rest_handler(api, lambda: bootstrap())  # noqa: PLW0108
