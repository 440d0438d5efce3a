import { ErrorTimeout, type User, UserManager, WebStorageStateStore } from "oidc-client-ts";
import { ApiError, type Credentials, SignedOutError } from "../api/client";
import type { Config } from "../config";

export const HOME = "/app/memories";
const CALLBACK = "/callback";
/** A token that ends this soon is renewed before it is used. */
const MARGIN_SECONDS = 60;

/** Who is signed in. */
export interface SignedInUser {
  id: string;
  name: string;
}

/**
 * The user's session with the hosted sign-in page: authorization code with PKCE (RFC 7636).
 *
 * Tokens live in the tab's session storage. The API is called with the ID token, which is what the
 * gateway's authorizer takes; it is renewed when it is needed, so nothing runs in a tab left alone.
 */
export class Session implements Credentials {
  readonly #config: Config;
  readonly #users: UserManager;
  readonly #listeners = new Set<() => void>();
  #user: User | null = null;
  #shown: SignedInUser | null = null;
  #renewal: Promise<string> | undefined;

  constructor(config: Config) {
    this.#config = config;
    const hosted = config.hosted_ui_url;
    this.#users = new UserManager({
      authority: config.issuer,
      client_id: config.client_id,
      redirect_uri: config.origin + CALLBACK,
      scope: "openid email profile",
      metadata: {
        issuer: config.issuer,
        authorization_endpoint: `${hosted}/oauth2/authorize`,
        token_endpoint: `${hosted}/oauth2/token`,
        revocation_endpoint: `${hosted}/oauth2/revoke`,
      },
      stateStore: new WebStorageStateStore({ store: sessionStorage }),
      userStore: new WebStorageStateStore({ store: sessionStorage }),
      automaticSilentRenew: false,
    });
    this.#users.events.addUserLoaded((user) => this.#show(user));
    this.#users.events.addUserUnloaded(() => this.#show(null));
  }

  /**
   * Take up the tab's session, or finish signing in on return from the hosted page.
   *
   * Rejects with the reason when signing in did not succeed and there was no session before.
   */
  async open(): Promise<void> {
    let problem: unknown;
    if (location.pathname === CALLBACK) {
      let place: unknown;
      try {
        place = (await this.#users.signinRedirectCallback()).state;
      } catch (error) {
        problem = error;
      }
      history.replaceState(null, "", ownPath(place)); // the code is spent: never send it again
    }
    this.#show(await this.#users.getUser());
    if (problem && !this.#user) throw problem;
  }

  /** Who is signed in; the same object until that changes. */
  get user(): SignedInUser | null {
    return this.#shown;
  }

  /** Call `listener` when `user` changes, until the returned function is called. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Leave for the hosted page, which returns to the place that is shown now. */
  async signIn(): Promise<void> {
    await this.#users.signinRedirect({ state: location.pathname + location.search });
  }

  /** End the session here and at the hosted page. */
  async signOut(): Promise<void> {
    // At worst the refresh token ends by itself; signing out here must not wait for that.
    await this.#users.revokeTokens(["refresh_token"]).catch(() => undefined);
    await this.#users.removeUser();
    const query = new URLSearchParams({
      client_id: this.#config.client_id,
      logout_uri: this.#config.origin + HOME,
    });
    location.assign(`${this.#config.hosted_ui_url}/logout?${query}`);
  }

  async token(): Promise<string> {
    const user = this.#user;
    if (!user?.id_token) throw new SignedOutError("Sign in first.");
    const remaining = user.profile.exp - Date.now() / 1000;
    return remaining > MARGIN_SECONDS ? user.id_token : this.renewedToken();
  }

  renewedToken(): Promise<string> {
    // Requests that find out together share one renewal.
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #renew(): Promise<string> {
    try {
      const user = await this.#users.signinSilent();
      if (user?.id_token) return user.id_token;
    } catch (error) {
      // The browser's fetch says TypeError when there is no connection: the session may be good.
      if (error instanceof TypeError || error instanceof ErrorTimeout) {
        throw new ApiError("The sign-in page can not be reached.", {
          status: 0,
          code: "unreachable",
        });
      }
    }
    await this.#users.removeUser();
    throw new SignedOutError("The session has ended.");
  }

  #show(user: User | null): void {
    this.#user = user;
    const { sub, email, preferred_username } = user?.profile ?? {};
    if (sub !== this.#shown?.id) {
      this.#shown = sub ? { id: sub, name: email ?? preferred_username ?? sub } : null;
    }
    for (const listener of this.#listeners) listener();
  }
}

/** Return `state` if it is a path of this origin, which `//host/` and the like are not. */
export function ownPath(state: unknown): string {
  const isOwn = typeof state === "string" && /^\/[^/\\]/.test(state);
  return isOwn && !state.startsWith(CALLBACK) ? state : HOME;
}
