import { expect, test } from "vitest";
import { readView, writeView } from "./view";

test.each(["", "q=dark+roast", "q=a%26b&type=person&sort=name&entity=01JC%2F2"])(
  "a view survives the address ?%s",
  (address) => {
    const view = readView(new URLSearchParams(address));
    expect(writeView(view).toString()).toBe(address);
  },
);

test("what is not valid in an address is left out", () => {
  const view = readView(new URLSearchParams("q=++&type=Person&sort=touched&entity="));
  expect(view).toEqual({ text: undefined, type: undefined, sort: "updated", selected: undefined });
});
