import type { ComponentType } from "react";
import { MemoriesPage } from "../memories/MemoriesPage";

/** One page of the console: its path, its name in the navigation, and what it shows. */
interface PageEntry {
  path: string;
  name: string;
  Page: ComponentType;
}

export const PAGES: readonly PageEntry[] = [
  { path: "/app/memories", name: "My memories", Page: MemoriesPage },
];
