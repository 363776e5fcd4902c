import { expect, test } from "vitest";
import { bounds } from "./bounds.ts";
import { errorStack, errorText } from "./errors.ts";
import { redact } from "./redact.ts";

test.each([
  ["a key in a query", "GET http://host/mcp?api_key=abc123&x=1", "GET http://host/mcp?api_key=[redacted]&x=1"],
  ["a token in a query", "https://host/?access_token=abc#here", "https://host/?access_token=[redacted]#here"],
  ["userinfo", "postgres://ann:pa55@host:5432/db", "postgres://[redacted]@host:5432/db"],
  ["a user alone", "https://ghp0@host/x.git", "https://[redacted]@host/x.git"],
  ["an option", "npx server --api-key abc123 --folder /x", "npx server --api-key [redacted] --folder /x"],
  ["an option with =", "server --token=abc123 run", "server --token=[redacted] run"],
  ["an assignment", "DB_PASSWORD=hunter2 node x.js", "DB_PASSWORD=[redacted] node x.js"],
  ["a header", "Authorization: Bearer abc.def", "Authorization: [redacted]"],
  ["a header in JSON", '{"authorization":"Bearer abc"}', '{"authorization":"[redacted]"}'],
  ["a field in JSON", '{"apiKey": "abc123", "n": 1}', '{"apiKey": "[redacted]", "n": 1}'],
  ["a bearer", "sent bearer 0a1b2c3d4e", "sent bearer [redacted]"],
  ["OpenAI's shape", "Incorrect key sk-proj-0123456789abcdefgh given", "Incorrect key [redacted] given"],
  ["Hugging Face's shape", "hf_abcdefghijklmnopqrstuv", "[redacted]"],
  ["GitHub's shape", "ghp_0123456789abcdefghij", "[redacted]"],
  ["Amazon's shape", "AKIAABCDEFGHIJKLMNOP", "[redacted]"],
  ["a JSON web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefgh", "[redacted]"],
  ["a private key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----!", "[redacted]!"],
])("%s is taken out", (_, text, expected) => {
  expect(redact(text)).toBe(expected);
  expect(redact(expected), "twice is once").toBe(expected);
});

test.each([
  "bad-config: got 3 tokens, expected token < 259",
  "max_tokens=100 and monkey business",
  "basic information about authorization",
  "ENOENT: no such file or directory, open '/home/ann/keys.txt'",
  "https://host/a@b?x=1",
])("nothing is taken out of: %s", (text) => {
  expect(redact(text)).toBe(text);
});

test("named values are told by their names, the longest first, and short ones are words like any other", () => {
  const named = { SERVICE_KEY: "abcdef-longer", OTHER: "abcdef", MODE: "on" };
  expect(redact("abcdef-longer and abcdef on", named)).toBe("[SERVICE_KEY] and [OTHER] on");
});

test("what errors say has no secrets, whoever asks", () => {
  const error = new Error("connect postgres://ann:pa55@host failed");
  expect(errorText(error)).toBe("connect postgres://[redacted]@host failed");
  expect(errorStack(error)).not.toContain("pa55");
  expect(errorText("--token abc123")).toBe("--token [redacted]");
});

test.each(["a-", "key=", "://", "Bearer ", '"key":"', "-----BEGIN PRIVATE KEY-----", "--key ", "sk-", "eyJ"])(
  "long hostile text of %s takes little time",
  (part) => {
    const began = performance.now();
    const shown = redact(part.repeat(2_000_000));
    expect(performance.now() - began).toBeLessThan(3_000);
    expect(shown.length).toBeLessThan(bounds.redactedChars * 3);
  },
);
