import { useQuery } from "@tanstack/react-query";
import { useLayoutEffect, useRef } from "react";
import { getEntity } from "../api/memories";
import type { Entity } from "../api/types";
import { useApi } from "../session/useSession";
import { Failure } from "../shared/Notice";
import { Time } from "../shared/Time";
import { Importance, TypeChip } from "./parts";
import { Relations } from "./Relations";

interface Props {
  id: string;
  onSelect: (id: string) => void;
  onClose: () => void;
}

/** One entity with its relations, over the page; Escape and a click beside it close it. */
export function EntityDrawer({ id, onSelect, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close(); // while it is in the page, to give the focus back
  }, []);
  const api = useApi();
  const entity = useQuery({
    queryKey: ["entity", id],
    queryFn: ({ signal }) => getEntity(api, id, signal),
  });
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard has Escape, which cancels a dialog
    <dialog
      ref={dialog}
      className="drawer"
      aria-label={entity.data?.name ?? "Memory"}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === dialog.current && onClose()}
    >
      <div className="inside">
        <button type="button" className="close" onClick={onClose} aria-label="Close">
          ×
        </button>
        {entity.isPending && <p role="status">Loading…</p>}
        {entity.isError && (
          <Failure
            what="This memory can not be read"
            error={entity.error}
            onRetry={() => entity.refetch()}
          />
        )}
        {entity.data && <Detail entity={entity.data} onSelect={onSelect} />}
      </div>
    </dialog>
  );
}

function Detail({ entity, onSelect }: { entity: Entity; onSelect: (id: string) => void }) {
  const hasProperties = Object.keys(entity.properties).length > 0;
  return (
    <>
      <h2>{entity.name}</h2>
      <p>
        <TypeChip type={entity.entity_type} />
      </p>
      {entity.is_self && <p>This is you: what you tell about yourself starts here.</p>}
      {entity.description && <p className="prose">{entity.description}</p>}
      <dl>
        <dt>Importance</dt>
        <dd>
          <Importance value={entity.importance} />
        </dd>
        <dt>Provenance</dt>
        <dd>{entity.provenance.replaceAll("_", " ")}</dd>
        <dt>Touched</dt>
        <dd>
          <Time at={entity.touched_at} />
        </dd>
        <dt>Created</dt>
        <dd>
          <Time at={entity.created_at} />
        </dd>
      </dl>
      <Relations entityId={entity.id} onSelect={onSelect} />
      {hasProperties && (
        <section>
          <h3>Properties</h3>
          <pre>{JSON.stringify(entity.properties, null, 2)}</pre>
        </section>
      )}
      {entity.evidence.length > 0 && (
        <section>
          <h3>Told in</h3>
          {entity.evidence.map((piece) => (
            <figure key={piece.turn + piece.quote}>
              <blockquote>{piece.quote}</blockquote>
              <figcaption>
                {piece.speaker}, <Time at={piece.date} />
              </figcaption>
            </figure>
          ))}
          {entity.sources_count > entity.evidence.length && (
            <p className="quiet">
              The newest {entity.evidence.length} of {entity.sources_count}.
            </p>
          )}
        </section>
      )}
    </>
  );
}
