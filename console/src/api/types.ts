/** The resources of docs/openapi.json, as far as the console reads them. */

export const ENTITY_TYPES = [
  "person",
  "preference",
  "skill",
  "project",
  "goal",
  "fact",
  "concept",
  "organization",
  "location",
  "custom",
] as const;
export type EntityType = (typeof ENTITY_TYPES)[number];

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | JsonValue[]
  | { [key: string]: JsonValue };

export interface Evidence {
  turn: string;
  speaker: string;
  date: string;
  quote: string;
}

export interface Entity {
  id: string;
  name: string;
  entity_type: EntityType;
  description: string;
  properties: Record<string, JsonValue>;
  importance: number;
  provenance: string;
  evidence: Evidence[];
  sources_count: number;
  is_self: boolean;
  created_at: string;
  touched_at: string;
}

export interface Relation {
  id: string;
  source_entity_id: string;
  target_entity_id: string;
  relation_type: string;
}

export interface GraphPage {
  entities: Entity[];
  relations: Relation[];
  truncated: boolean;
}

export interface Listing<T> {
  items: T[];
  next_cursor?: string;
}
