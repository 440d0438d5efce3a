import type { Entity } from "../api/types";
import { Time } from "../shared/Time";
import { Importance, TypeChip } from "./parts";

/** Entities as rows; the name opens the entity. */
export function EntityTable(props: { entities: Entity[]; onSelect: (id: string) => void }) {
  return (
    <table className="entities">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Type</th>
          <th scope="col">Importance</th>
          <th scope="col">Touched</th>
        </tr>
      </thead>
      <tbody>
        {props.entities.map((entity) => (
          <tr key={entity.id}>
            <th scope="row">
              <button type="button" className="link" onClick={() => props.onSelect(entity.id)}>
                {entity.name}
              </button>
              {entity.description && <p className="description">{entity.description}</p>}
            </th>
            <td>
              <TypeChip type={entity.entity_type} />
            </td>
            <td>
              <Importance value={entity.importance} />
            </td>
            <td>
              <Time at={entity.touched_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
