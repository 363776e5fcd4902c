import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { processSandbox } from "../tool/sandbox/process-sandbox.ts";
import { remoteSandbox } from "../tool/sandbox/remote-sandbox.ts";
import { sandboxContract } from "../tool/sandbox/sandbox.contract.ts";
import { type BoxServer, serveBoxes } from "./box-server.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-box-server-"));
const sandbox = processSandbox({ folder });
let server: BoxServer;
beforeAll(async () => {
  server = await serveBoxes({ sandbox });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});
const others: BoxServer[] = [];
afterEach(() => Promise.all(others.splice(0).map((each) => each.close())));
const remote = (more = {}) => remoteSandbox({ url: server.url, token: server.token, level: "process", ...more });

sandboxContract("remote", () => remote(), { leftovers: () => readdirSync(folder), boxes: 10 });

test("without the token nothing is told", async () => {
  await expect(remote({ token: "wrong" }).open()).rejects.toThrow("wrong-token");
  for (const path of ["/", "/boxes", "/nowhere"]) expect((await fetch(`${server.url}${path}`)).status).toBe(401);
});

test("a server whose boxes are weaker than what is asked for is refused", async () => {
  await expect(remote({ level: "namespace" }).open()).rejects.toThrow(/sandbox-too-weak.*"process".*"namespace"/);
});

test("a server that is not there", async () => {
  await expect(remote({ url: "http://127.0.0.1:9" }).open()).rejects.toThrow(/boxes-unreachable.*ludus boxes serve/);
});

test("bodies that are none are refused", async () => {
  const headers = { authorization: `Bearer ${server.token}` };
  const response = await fetch(`${server.url}/boxes`, { method: "POST", headers, body: "{" });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: "bad-request" } });
});

test("boxes are counted, closed when nobody asks for them, and with the server", async () => {
  const small = await serveBoxes({ sandbox, maxBoxes: 1, idleMs: 50 });
  others.push(small);
  const client = remoteSandbox({ url: small.url, token: small.token, level: "process" });
  const box = await client.open({ files: { a: "x" } });
  await expect(client.open()).rejects.toThrow("too-many-boxes");
  await expect.poll(() => readdirSync(folder)).toEqual([]);
  await expect(box.read("a")).rejects.toThrow("box-closed");
  await client.open();
  await small.close();
  expect(readdirSync(folder)).toEqual([]);
});
