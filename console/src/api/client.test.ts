import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ApiClient, ApiError, type Credentials, SignedOutError } from "./client";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const seen: IncomingMessage[] = [];
let answer: Answer;
let base: string;
const server = createServer((request, response) => {
  seen.push(request);
  answer(request, response);
});

beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`;
});
afterAll(() => {
  server.close();
});
beforeEach(() => {
  seen.length = 0;
});

function credentials(...tokens: string[]): Credentials {
  const next = async () => {
    const token = tokens.shift();
    if (!token) throw new SignedOutError("over");
    return token;
  };
  return { token: next, renewedToken: next };
}

function json(status: number, body: unknown): Answer {
  return (_, response) => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  };
}

/** Answers 401 to every token but one. */
function onlyFor(token: string): Answer {
  return (request, response) => {
    const isGood = request.headers.authorization === `Bearer ${token}`;
    json(isGood ? 200 : 401, isGood ? { ok: true } : { code: "unauthorized" })(request, response);
  };
}

async function errorOf(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.catch((reason: unknown) => reason);
  if (error instanceof ApiError) return error;
  throw new Error(`no ApiError but ${error}`);
}

test("sends the token and the parameters that are set", async () => {
  answer = json(200, { items: [] });
  const query = { q: "a&b ü", entity_ids: ["1", "2"], cursor: undefined, limit: 5 };
  const read = await new ApiClient(credentials("t1"), base).get("/things", query);
  expect(read).toEqual({ items: [] });
  expect(seen[0]?.headers.authorization).toBe("Bearer t1");
  const url = new URL(seen[0]?.url ?? "", base);
  expect(url.pathname).toBe("/api/v1/things");
  expect([...url.searchParams]).toEqual([
    ["q", "a&b ü"],
    ["entity_ids", "1"],
    ["entity_ids", "2"],
    ["limit", "5"],
  ]);
});

test("tells a problem document apart by its code", async () => {
  answer = json(422, {
    title: "Not valid",
    detail: "The cursor is not one of this listing.",
    status: 422,
    code: "invalid_cursor",
    request_id: "r-1",
    errors: [{ field: "cursor", code: "invalid_cursor", detail: "not valid" }],
  });
  const error = await errorOf(new ApiClient(credentials("t1"), base).get("/things"));
  expect(error.message).toBe("The cursor is not one of this listing.");
  expect([error.status, error.code, error.requestId]).toEqual([422, "invalid_cursor", "r-1"]);
  expect(error.fields[0]?.field).toBe("cursor");
  expect(error.isPassing).toBe(false);
});

test("makes an error of an answer that is no document", async () => {
  answer = (_, response) => response.writeHead(502).end("<html>bad gateway</html>");
  const error = await errorOf(new ApiClient(credentials("t1"), base).get("/things"));
  expect([error.status, error.code]).toEqual([502, "unknown"]);
  expect(error.isPassing).toBe(true);
});

test("renews a refused token once and sends the request again", async () => {
  answer = onlyFor("t2");
  expect(await new ApiClient(credentials("t1", "t2"), base).get("/things")).toEqual({ ok: true });
  expect(seen).toHaveLength(2);
});

test("gives up when the renewed token is refused too", async () => {
  answer = onlyFor("t3");
  const error = await errorOf(new ApiClient(credentials("t1", "t2", "t3"), base).get("/things"));
  expect(error.status).toBe(401);
  expect(seen).toHaveLength(2);
});

test("passes on that the session has ended, and asks nothing without a token", async () => {
  answer = onlyFor("none");
  await expect(new ApiClient(credentials("t1"), base).get("/things")).rejects.toThrow(
    SignedOutError,
  );
  await expect(new ApiClient(credentials(), base).get("/things")).rejects.toThrow(SignedOutError);
  expect(seen).toHaveLength(1);
});

test("tells an unreachable server from a request that was called off", async () => {
  answer = (request) => request.destroy();
  const client = new ApiClient(credentials("t1", "t2"), base);
  const error = await errorOf(client.get("/things"));
  expect([error.status, error.code, error.isPassing]).toEqual([0, "unreachable", true]);
  const aborted = client.get("/things", {}, AbortSignal.abort());
  await expect(aborted).rejects.toThrow(expect.objectContaining({ name: "AbortError" }));
});
