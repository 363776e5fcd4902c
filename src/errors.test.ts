import { expect, test } from "vitest";
import { errorStack, errorText } from "./errors.ts";

const throwing = (name: "message" | "stack") => {
  const error = new Error("a");
  Object.defineProperty(error, name, {
    get() {
      throw new RangeError("hostile");
    },
  });
  return error;
};

test.each([
  ["a message that throws", throwing("message")],
  ["a stack that throws", throwing("stack")],
  ["no prototype", Object.create(null)],
  [
    "a proxy that throws",
    new Proxy(new Error("a"), {
      getPrototypeOf() {
        throw new RangeError("hostile");
      },
    }),
  ],
  ["a message that is no text", Object.assign(new Error("a"), { message: { toString: () => 1 }, stack: undefined })],
])("the text of an error with %s can be told", (_, thrown) => {
  expect(errorText(thrown)).toBeTypeOf("string");
  expect(errorStack(thrown)).toBeTypeOf("string");
});
