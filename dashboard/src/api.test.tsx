import { useState } from "react";
import { afterEach, describe, expect, test } from "vitest";
import { get, type Problem, post, useAnswer } from "./api.ts";
import { ProblemNote } from "./pieces.tsx";
import { fakeServer, problem } from "./testing/fake-server.ts";
import { closePage, render, settle, texts } from "./testing/show-page.tsx";

afterEach(closePage);

const failureOf = (reply: unknown) => {
  fakeServer({ "/x": reply });
  return get("/x").then(
    () => undefined,
    (error: Problem) => ({ status: error.status, code: error.code, message: error.message }),
  );
};

describe("a request that fails", () => {
  test("has the server's code and message", async () => {
    expect(await failureOf(problem(404, "no-run", "There is no run x."))).toEqual({
      status: 404,
      code: "no-run",
      message: "There is no run x.",
    });
  });

  test.each([
    ["HTML from a proxy", "<html>Bad gateway</html>"],
    ["JSON of another shape", '{"detail":"no"}'],
    ["null", "null"],
    ["nothing", ""],
  ])("with %s in its body has the HTTP status", async (_, body) => {
    const reply = new Response(body, { status: 502, statusText: "Bad Gateway" });
    expect(await failureOf(reply)).toEqual({ status: 502, code: "failed", message: "HTTP 502 Bad Gateway" });
  });

  test.each([
    ["<html>Log in</html>", "Not JSON: <html>Log in</html>"],
    ['{"runs":[', 'Not JSON: {"runs":['],
    ["", "Not JSON: an empty body"],
  ])("because a good status comes with %j says so", async (body, message) => {
    expect(await failureOf(new Response(body))).toEqual({ status: 200, code: "malformed-response", message });
  });
});

test("a post sends JSON", async () => {
  const server = fakeServer({ "/play": { session: "s" } });
  expect(await post("/play", { env: "bandit" })).toEqual({ session: "s" });
  expect(server.posted).toEqual([{ env: "bandit" }]);
});

const Shown = ({ path, version = 0 }: { path: string | undefined; version?: number }) => {
  const { answer, problem: failed, isLoading } = useAnswer<{ name: string }>(path, version);
  return (
    <>
      <output>{`${answer?.name ?? "-"} ${isLoading ? "loading" : "ready"}`}</output>
      <ProblemNote problem={failed} />
    </>
  );
};

describe("an answer", () => {
  test("is requested again when the version changes", async () => {
    let count = 0;
    fakeServer({ "/a": () => ({ name: `a${++count}` }) });
    await render(<Shown path="/a" />);
    expect(texts("output")).toEqual(["a1 ready"]);
    await render(<Shown path="/a" version={1} />);
    expect(texts("output")).toEqual(["a2 ready"]);
  });

  test("is not requested without a path", async () => {
    const server = fakeServer({});
    await render(<Shown path={undefined} />);
    expect(server.requests).toEqual([]);
  });

  test("of a server that is gone is a problem in words", async () => {
    fakeServer({ "/a": new TypeError("fetch failed") });
    await render(<Shown path="/a" />);
    expect(texts("[role=alert]")).toEqual(["unreachable The server does not respond."]);
  });

  test("stays while a refresh fails, and the problem goes when the server is back", async () => {
    const server = fakeServer({ "/a": { name: "a" } });
    const Page = () => <Shown path="/a" version={version} />;
    let version = 0;
    const { rerender } = await rerendered(Page);
    server.reply({ "/a": new TypeError("fetch failed") });
    version = 1;
    await rerender();
    expect([texts("output"), texts("[role=alert]").length]).toEqual([["a ready"], 1]);
    server.reply({ "/a": { name: "again" } });
    version = 2;
    await rerender();
    expect([texts("output"), texts("[role=alert]").length]).toEqual([["again ready"], 0]);
  });

  test("of another path that fails is not the answer of the first", async () => {
    fakeServer({ "/a": { name: "a" } });
    let path = "/a";
    const { rerender } = await rerendered(() => <Shown path={path} />);
    path = "/b";
    await rerender();
    expect([texts("output"), texts("[role=alert]")]).toEqual([["- ready"], ["not-found There is nothing at /b."]]);
  });

  test("that comes late is not taken for the answer of the path since", async () => {
    const late = Promise.withResolvers<unknown>();
    const server = fakeServer({ "/b": { name: "b" } });
    const direct = globalThis.fetch;
    globalThis.fetch = async (input, init) => {
      if (String(input) === "/api/a") await late.promise;
      return direct(input, init);
    };
    server.reply({ "/a": { name: "a" } });
    let path = "/a";
    const { rerender } = await rerendered(() => <Shown path={path} />);
    path = "/b";
    await rerender();
    await settle(() => late.resolve(undefined));
    expect(texts("output")).toEqual(["b ready"]);
  });
});

/** A component that can be rendered again in its place. */
async function rerendered(Component: () => React.ReactNode) {
  let again = () => {};
  const Host = () => {
    const [, setCount] = useState(0);
    again = () => setCount((count) => count + 1);
    return <Component key="same" />;
  };
  await render(<Host />);
  return { rerender: () => settle(() => again()) };
}
