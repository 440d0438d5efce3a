import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { getNeighbourhood } from "../api/memories";
import type { Relation } from "../api/types";
import { useApi } from "../session/useSession";
import { Failure } from "../shared/Notice";

interface Props {
  entityId: string;
  onSelect: (id: string) => void;
}

/** The relations of an entity in both directions, each leading to its other end. */
export function Relations({ entityId, onSelect }: Props) {
  const api = useApi();
  const graph = useQuery({
    queryKey: ["neighbourhood", entityId],
    queryFn: ({ signal }) => getNeighbourhood(api, entityId, signal),
  });
  if (graph.isPending) return <p role="status">Loading relations…</p>;
  if (graph.isError) {
    const retry = () => graph.refetch();
    return <Failure what="Relations can not be read" error={graph.error} onRetry={retry} />;
  }
  const { entities, relations, truncated } = graph.data;
  const names = new Map(entities.map((entity) => [entity.id, entity.name]));
  const line = (relation: Relation, otherId: string, isOutgoing: boolean) => (
    <li key={relation.id}>
      <span className="quiet">
        {isOutgoing ? "→" : "←"} {relation.relation_type.replaceAll("_", " ")}
      </span>{" "}
      <button type="button" className="link" onClick={() => onSelect(otherId)}>
        {names.get(otherId) ?? otherId}
      </button>
    </li>
  );
  const outgoing = relations.filter((relation) => relation.source_entity_id === entityId);
  const incoming = relations.filter((relation) => relation.target_entity_id === entityId);
  return (
    <>
      <Lines title="Outgoing relations">
        {outgoing.map((relation) => line(relation, relation.target_entity_id, true))}
      </Lines>
      <Lines title="Incoming relations">
        {incoming.map((relation) => line(relation, relation.source_entity_id, false))}
      </Lines>
      {truncated && <p className="quiet">There are more relations than are shown.</p>}
    </>
  );
}

function Lines({ title, children }: { title: string; children: ReactElement[] }) {
  return (
    <section>
      <h3>{title}</h3>
      {children.length > 0 ? <ul>{children}</ul> : <p className="quiet">None</p>}
    </section>
  );
}
