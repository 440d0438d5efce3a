import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ApiError, SignedOutError } from "../api/client";
import { ownPath, Session } from "./session";

const ISSUER = "https://issuer.example/pool";
const CLIENT = "client-1";
const HOUR = 3600;

let provider: Server;
let config: { issuer: string; client_id: string; hosted_ui_url: string; origin: string };
/** What the token endpoint was sent, and what it answers. */
const asked: URLSearchParams[] = [];
let answers: { status: number; body: object };

beforeEach(async () => {
  asked.length = 0;
  provider = createServer(async (request, response) => {
    let form = "";
    for await (const chunk of request) form += chunk;
    asked.push(new URLSearchParams(form));
    response.writeHead(answers.status, { "content-type": "application/json" });
    response.end(JSON.stringify(answers.body));
  });
  await new Promise<void>((done) => provider.listen(0, "127.0.0.1", done));
  const hosted = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  config = {
    issuer: ISSUER,
    client_id: CLIENT,
    hosted_ui_url: hosted,
    origin: "http://localhost:8600",
  };
  const items = new Map<string, string>();
  vi.stubGlobal("location", new URL("http://localhost:8600/app/memories"));
  vi.stubGlobal("sessionStorage", {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => items.set(key, value),
    removeItem: (key: string) => items.delete(key),
    key: (index: number) => [...items.keys()][index] ?? null,
    get length() {
      return items.size;
    },
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  provider.close();
});

function idToken(endsIn: number, marker: string): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = { sub: "u1", email: "u1@example.com", auth_time: 1, iat: now, exp: now + endsIn };
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  return `${part({ alg: "RS256", marker })}.${part(claims)}.c2ln`;
}

/** Open a session that signed in before, with an ID token that ends in so many seconds. */
async function opened(endsIn: number, id_token = idToken(endsIn, "first")): Promise<Session> {
  const profile = JSON.parse(atob(id_token.split(".")[1] ?? ""));
  const user = { id_token, refresh_token: "r1", access_token: "a1", scope: "openid", profile };
  sessionStorage.setItem(`oidc.user:${ISSUER}:${CLIENT}`, JSON.stringify(user));
  const session = new Session(config);
  await session.open();
  return session;
}

test("a token that lasts is used as it is", async () => {
  const token = idToken(HOUR, "first");
  const session = await opened(HOUR, token);
  expect(session.user).toEqual({ id: "u1", name: "u1@example.com" });
  expect(await session.token()).toBe(token);
  expect(asked).toHaveLength(0);
});

test("a token about to end is renewed once for all who ask", async () => {
  const session = await opened(10);
  const renewed = idToken(HOUR, "second");
  answers = { status: 200, body: { access_token: "a2", id_token: renewed, expires_in: HOUR } };
  expect(await Promise.all([session.token(), session.token()])).toEqual([renewed, renewed]);
  expect(await session.token()).toBe(renewed);
  expect(asked.map((form) => form.get("refresh_token"))).toEqual(["r1"]);
});

test("a refused renewal ends the session", async () => {
  const session = await opened(10);
  const heard = vi.fn();
  session.subscribe(heard);
  answers = { status: 400, body: { error: "invalid_grant" } };
  await expect(session.token()).rejects.toThrow(SignedOutError);
  expect(session.user).toBeNull();
  expect(heard).toHaveBeenCalled();
  expect(sessionStorage).toHaveLength(0);
  await expect(session.token()).rejects.toThrow(SignedOutError);
});

test("a renewed token of another user ends the session", async () => {
  const session = await opened(10);
  const part = Buffer.from(JSON.stringify({ sub: "u2", exp: 9e9 })).toString("base64url");
  const id_token = `e30.${part}.c2ln`;
  answers = { status: 200, body: { access_token: "a2", id_token, expires_in: HOUR } };
  await expect(session.token()).rejects.toThrow(SignedOutError);
});

test("a renewal without a connection leaves the session as it was", async () => {
  const session = await opened(10);
  await new Promise((done) => provider.close(done));
  const error = await session.token().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({ code: "unreachable", isPassing: true });
  expect(session.user?.id).toBe("u1");
});

test.each(["/app/memories", "/memories?user=a&q=//x", "/app/memories#top"])(
  "signing in returns to %s",
  (path) => {
    expect(ownPath(path)).toBe(path);
  },
);

test.each([
  "https://elsewhere.example/",
  "//elsewhere.example/app",
  "/\\elsewhere.example",
  "javascript:alert(1)",
  "",
  "/callback?code=1",
  undefined,
  { toString: () => "/app/memories" },
])("signing in does not return to %s", (state) => {
  expect(ownPath(state)).toBe("/app/memories");
});
