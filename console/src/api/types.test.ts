import { expect, test } from "vitest";
import openapi from "../../../docs/openapi.json";
import { ENTITY_TYPES, type Entity, type Evidence, type GraphPage, type Relation } from "./types";

const { schemas } = openapi.components;

/** Every field that the console reads, by the schema that must have it. */
const READ = {
  Entity: {
    id: true,
    name: true,
    entity_type: true,
    description: true,
    properties: true,
    importance: true,
    provenance: true,
    evidence: true,
    sources_count: true,
    is_self: true,
    created_at: true,
    touched_at: true,
  } satisfies Record<keyof Entity, true>,
  Evidence: { turn: true, speaker: true, date: true, quote: true } satisfies Record<
    keyof Evidence,
    true
  >,
  Relation: {
    id: true,
    source_entity_id: true,
    target_entity_id: true,
    relation_type: true,
  } satisfies Record<keyof Relation, true>,
  GraphPage: { entities: true, relations: true, truncated: true } satisfies Record<
    keyof GraphPage,
    true
  >,
  Listing_Entity_: { items: true, next_cursor: true },
};

test.each(Object.entries(READ))("the API describes what is read of %s", (name, fields) => {
  expect(schemas).toHaveProperty([name, "properties"]);
  for (const field of Object.keys(fields)) {
    expect(schemas).toHaveProperty([name, "properties", field]);
  }
});

test("the types of entities are those of the API", () => {
  expect([...ENTITY_TYPES]).toEqual(schemas.EntityType.enum);
});
