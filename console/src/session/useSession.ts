import { createContext, useContext, useSyncExternalStore } from "react";
import type { ApiClient } from "../api/client";
import type { Session, SignedInUser } from "./session";

/** Calls the API as the signed-in user. */
export const ApiContext = createContext<ApiClient | null>(null);

/** Return the client of the API. */
export function useApi(): ApiClient {
  const api = useContext(ApiContext);
  if (!api) throw new Error("useApi needs an ApiContext");
  return api;
}

/** Return who is signed in, and render again when that changes. */
export function useUser(session: Session): SignedInUser | null {
  return useSyncExternalStore(
    (listener) => session.subscribe(listener),
    () => session.user,
  );
}
