import { expect, test } from "vitest";
import { ownPath } from "./session";

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
