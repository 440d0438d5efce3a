import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { listEntities } from "../api/memories";
import { useApi } from "../session/useSession";
import { Failure } from "../shared/Notice";
import { EntityDrawer } from "./EntityDrawer";
import { EntityTable } from "./EntityTable";
import { Filters } from "./Filters";
import { useView, type View } from "./view";

/** The user's entities: search, filter, and one of them in a drawer. */
export function MemoriesPage() {
  const [view, change] = useView();
  useEffect(() => {
    document.title = "My memories · Threadkeep";
  }, []);
  return (
    <main className="page">
      <h1>My memories</h1>
      <Filters view={view} onChange={change} />
      <Entities
        view={view}
        onSelect={(selected) => change({ selected })}
        onClearFilters={() => change({ text: undefined, type: undefined })}
      />
      {view.selected && (
        <EntityDrawer
          id={view.selected}
          onSelect={(selected) => change({ selected })}
          onClose={() => change({ selected: undefined })}
        />
      )}
    </main>
  );
}

interface EntitiesProps {
  view: View;
  onSelect: (id: string) => void;
  onClearFilters: () => void;
}

function Entities({ view, onSelect, onClearFilters }: EntitiesProps) {
  const api = useApi();
  const { text, type, sort } = view;
  const list = useInfiniteQuery({
    queryKey: ["entities", { text, type, sort }],
    queryFn: ({ pageParam, signal }) => listEntities(api, { text, type, sort }, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
  });
  if (list.isError && !list.data) {
    const retry = () => list.refetch();
    return <Failure what="Memories can not be read" error={list.error} onRetry={retry} />;
  }
  const entities = list.data?.pages.flatMap((page) => page.items) ?? [];
  // While another filter's answer is awaited the former rows stay; that it had none says nothing.
  if (list.isPending || (list.isPlaceholderData && !entities.length)) return <Loading />;
  if (!entities.length && !list.hasNextPage) {
    return text || type ? <NoMatch onClear={onClearFilters} /> : <NothingYet />;
  }
  return (
    <section aria-label="Entities" aria-busy={list.isFetching}>
      <EntityTable entities={entities} onSelect={onSelect} />
      {list.isError && (
        <Failure
          what="The list is not up to date"
          error={list.error}
          onRetry={() => (list.isFetchNextPageError ? list.fetchNextPage() : list.refetch())}
        />
      )}
      <footer className="more">
        <p role="status">{summary(entities.length, list.hasNextPage)}</p>
        {list.hasNextPage && (
          <button
            type="button"
            disabled={list.isFetchingNextPage}
            onClick={() => list.fetchNextPage()}
          >
            {list.isFetchingNextPage ? "Loading…" : "Show more"}
          </button>
        )}
      </footer>
    </section>
  );
}

function summary(count: number, hasMore: boolean): string {
  if (hasMore) return `The first ${count} are shown.`;
  return count === 1 ? "1 memory" : `${count} memories`;
}

function Loading() {
  return (
    <div className="skeleton" role="status">
      <span className="hidden">Loading memories…</span>
      <i />
      <i />
      <i />
    </div>
  );
}

function NothingYet() {
  return (
    <div className="empty" role="status">
      <h2>Nothing is remembered yet</h2>
      <p>Talk to an agent that has memory on. What it learns about you appears here.</p>
    </div>
  );
}

function NoMatch({ onClear }: { onClear: () => void }) {
  return (
    <div className="empty" role="status">
      <h2>No memory matches</h2>
      <p>Nothing with these words and this type is remembered.</p>
      <button type="button" onClick={onClear}>
        Clear search and filter
      </button>
    </div>
  );
}
