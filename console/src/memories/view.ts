import { useSearchParams } from "wouter";
import type { EntityFilters } from "../api/memories";
import { ENTITY_TYPES, type EntityType } from "../api/types";

/** What the address says the page shows. */
export interface View extends EntityFilters {
  /** Id of the entity that the drawer shows. */
  selected?: string | undefined;
}

/** Read a view from an address's query; what is not valid there is left out. */
export function readView(query: URLSearchParams): View {
  const type = query.get("type");
  return {
    text: query.get("q")?.trim() || undefined,
    type: isEntityType(type) ? type : undefined,
    sort: query.get("sort") === "name" ? "name" : "updated",
    selected: query.get("entity") || undefined,
  };
}

/** Write a view as an address's query, the shortest that reads back as the same. */
export function writeView(view: View): URLSearchParams {
  const query = new URLSearchParams();
  if (view.text) query.set("q", view.text);
  if (view.type) query.set("type", view.type);
  if (view.sort !== "updated") query.set("sort", view.sort);
  if (view.selected) query.set("entity", view.selected);
  return query;
}

/**
 * The page's view, kept in the address so that it can be linked to.
 *
 * Opening the drawer makes a step that the browser's back button undoes; a filter does not.
 */
export function useView(): [View, (change: Partial<View>) => void] {
  const [query, setQuery] = useSearchParams();
  const view = readView(query);
  const change = (part: Partial<View>) =>
    setQuery(writeView({ ...view, ...part }), { replace: !("selected" in part) });
  return [view, change];
}

export function isEntityType(text: string | null): text is EntityType {
  return ENTITY_TYPES.some((type) => type === text);
}
