import { useEffect, useState } from "react";
import type { EntitySort } from "../api/memories";
import { ENTITY_TYPES } from "../api/types";
import { useDebounced } from "../shared/useDebounced";
import { isEntityType, type View } from "./view";

const TYPING_PAUSE_MS = 250;
const MAX_TEXT = 255;

interface Props {
  view: View;
  onChange: (change: Partial<View>) => void;
}

export function Filters({ view, onChange }: Props) {
  const [text, setText] = useState(view.text ?? "");
  useDebounced(text, TYPING_PAUSE_MS, (typed) => {
    const wanted = typed.trim() || undefined;
    if (wanted !== view.text) onChange({ text: wanted });
  });
  useEffect(() => {
    // What the address says wins, but for white space that is still being typed.
    setText((typed) => (typed.trim() === (view.text ?? "") ? typed : (view.text ?? "")));
  }, [view.text]);
  return (
    <search className="filters">
      <label className="grow">
        <span className="hidden">Search by name or description</span>
        <input
          type="search"
          placeholder="Search by name or description"
          value={text}
          maxLength={MAX_TEXT}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <label>
        Type
        <select
          value={view.type ?? ""}
          onChange={({ target }) =>
            onChange({ type: isEntityType(target.value) ? target.value : undefined })
          }
        >
          <option value="">All</option>
          {ENTITY_TYPES.map((type) => (
            <option key={type} value={type}>
              {type}
            </option>
          ))}
        </select>
      </label>
      <label>
        Order
        <select
          value={view.sort}
          onChange={({ target }) => onChange({ sort: target.value as EntitySort })}
        >
          <option value="updated">Newest</option>
          <option value="name">Name</option>
        </select>
      </label>
    </search>
  );
}
