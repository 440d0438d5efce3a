import type { ApiClient } from "./client";
import type { Entity, EntityType, GraphPage, Listing } from "./types";

export type EntitySort = "updated" | "name";

/** Filters and order of the list of entities. */
export interface EntityFilters {
  /** Text in name or description. */
  text?: string | undefined;
  type?: EntityType | undefined;
  sort: EntitySort;
}

const PAGE_SIZE = 50;
/** The most that one traversal answers. */
const NEIGHBOURHOOD = { max_depth: 1, max_nodes: 100, max_relations: 500 };

/** Return one page of the user's entities. */
export function listEntities(
  api: ApiClient,
  filters: EntityFilters,
  cursor?: string,
  signal?: AbortSignal,
): Promise<Listing<Entity>> {
  const { text, type, sort } = filters;
  const query = { q: text, entity_type: type, sort, limit: PAGE_SIZE, cursor };
  return api.get("/memories/entities", query, signal);
}

/** Return an entity with its evidence. */
export function getEntity(api: ApiClient, id: string, signal?: AbortSignal): Promise<Entity> {
  return api.get(`/memories/entities/${encodeURIComponent(id)}`, {}, signal);
}

/** Return the entities and relations one hop around an entity. */
export function getNeighbourhood(
  api: ApiClient,
  id: string,
  signal?: AbortSignal,
): Promise<GraphPage> {
  return api.get("/memories/graph", { ...NEIGHBOURHOOD, entity_ids: [id] }, signal);
}
