/** Where the client gets tokens from. */
export interface Credentials {
  /** Return a token that is good now. Rejects with SignedOutError if there is none. */
  token(): Promise<string>;
  /** Exchange a token that the API refused. Rejects with SignedOutError if that fails. */
  renewedToken(): Promise<string>;
}

/** Nobody is signed in, or the session has ended. */
export class SignedOutError extends Error {
  override name = "SignedOutError";
}

/** One faulty field of a request. */
export interface FieldProblem {
  field: string;
  code: string;
  detail: string;
}

/** A request that failed: a problem document (RFC 9457), or no answer at all. */
export class ApiError extends Error {
  override name = "ApiError";
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  /** Stable code of the failure, see docs/errors.md; `unreachable` when no answer came. */
  readonly code: string;
  readonly requestId: string | undefined;
  readonly fields: readonly FieldProblem[];

  constructor(
    message: string,
    details: { status: number; code: string; requestId?: string; fields?: readonly FieldProblem[] },
  ) {
    super(message);
    this.status = details.status;
    this.code = details.code;
    this.requestId = details.requestId;
    this.fields = details.fields ?? [];
  }

  /** Whether the same request may succeed later. */
  get isPassing(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Query parameters; an array is sent as a repeated one, undefined not at all. */
export type Query = Record<string, string | number | readonly string[] | undefined>;

/** Calls the API as the signed-in user. */
export class ApiClient {
  readonly #credentials: Credentials;
  readonly #base: string;

  constructor(credentials: Credentials, base = "/api/v1") {
    this.#credentials = credentials;
    this.#base = base;
  }

  /** Read a resource. Rejects with ApiError or SignedOutError, or as `signal` aborts it. */
  async get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
    const url = this.#base + path + queryString(query);
    let answer = await send(url, await this.#credentials.token(), signal);
    if (answer.status === 401) {
      answer = await send(url, await this.#credentials.renewedToken(), signal);
    }
    if (!answer.ok) throw await failure(answer);
    return answer.json();
  }
}

async function send(url: string, token: string, signal?: AbortSignal): Promise<Response> {
  try {
    const headers = { Authorization: `Bearer ${token}` };
    return await fetch(url, { headers, signal: signal ?? null });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError("The server can not be reached.", { status: 0, code: "unreachable" });
  }
}

async function failure(answer: Response): Promise<ApiError> {
  const document = await answer.json().catch(() => ({}));
  return new ApiError(
    document.detail ?? document.title ?? `The server answered ${answer.status}.`,
    {
      status: answer.status,
      code: document.code ?? "unknown",
      requestId: document.request_id,
      fields: document.errors,
    },
  );
}

function queryString(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined) parameters.append(name, String(each));
    }
  }
  return parameters.size ? `?${parameters}` : "";
}
