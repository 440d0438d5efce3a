import { expect, test } from "vitest";
import { relativeTime } from "./relativeTime";

const NOW = new Date("2026-03-10T12:00:00Z");

test.each([
  ["2026-03-10T12:00:00Z", "just now"],
  ["2026-03-10T11:59:01Z", "just now"],
  ["2026-03-10T11:59:00Z", "1 minute ago"],
  ["2026-03-10T11:00:01Z", "59 minutes ago"],
  ["2026-03-10T10:00:00Z", "2 hours ago"],
  ["2026-03-09T12:00:00Z", "yesterday"],
  ["2026-03-03T12:00:00Z", "last week"],
  ["2026-01-05T12:00:00Z", "2 months ago"],
  ["2024-03-09T12:00:00Z", "2 years ago"],
  ["2026-03-11T12:00:00Z", "tomorrow"],
])("%s is %s", (time, told) => {
  expect(relativeTime(new Date(time), NOW)).toBe(told);
});
