import type { EntityType } from "../api/types";

export function TypeChip({ type }: { type: EntityType }) {
  return (
    <span className="chip" data-type={type}>
      {type}
    </span>
  );
}

/** Importance from 0 to 1 as a bar and a number. */
export function Importance({ value }: { value: number }) {
  return (
    <span className="importance">
      {value.toFixed(2)}
      <span className="bar" aria-hidden="true">
        <i style={{ width: `${value * 100}%` }} />
      </span>
    </span>
  );
}
