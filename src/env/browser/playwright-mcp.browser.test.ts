import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { mcpTools } from "../../tool/mcp-tools.ts";
import { Episode } from "../episode.ts";
import { type BrowserEnvOptions, browserEnv } from "./browser-env.ts";
import { waitedInVain } from "./page-driver.ts";

// the server as it is published, in a folder of its own: it writes files into the one it is started in
const folder = mkdtempSync(join(tmpdir(), "ludus-mcp-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const server = {
  command: process.execPath,
  args: [
    join(import.meta.dirname, "../../../node_modules/@playwright/mcp/cli.js"),
    "--headless",
    "--isolated",
    "--no-sandbox",
    "--executable-path",
    process.env.LUDUS_BROWSER ?? "",
  ],
  cwd: folder,
};
const { signal } = new AbortController();

async function play(pages: BrowserEnvOptions["pages"], split: string, index: number) {
  const env = browserEnv({ pages, actionMs: 20_000 });
  const episode = new Episode(env, await env.tasks.at(split, index), { signal });
  let next = await episode.start();
  const read: string[] = [];
  while ("role" in next) {
    read.push(...next.messages.map(({ content }) => content));
    next = await episode.step(episode.expertSays() ?? "");
  }
  const { stop, failure, scores } = await episode.finish(next);
  return { read, stop, failure, success: scores.agent.success };
}

const sameTexts = [
  ["browser_tabs", { action: "select", index: 9 }],
  ["browser_wait_for", {}],
  ["browser_wait_for", { time: 0.1 }],
  ["browser_handle_dialog", { accept: true }],
] as const;

/** What the server itself answers a call. */
async function saidBy(client: Awaited<ReturnType<typeof mcpTools>>, name: string, input: object): Promise<string> {
  const context = { state: undefined, rng: { next: () => 0 }, signal, box() {}, reward() {}, finish() {} } as never;
  try {
    return String(await client.tools[name].run(input, context)).trim();
  } catch (error) {
    return error instanceof Error ? error.message.trim() : String(error);
  }
}

test("the server's tools take what ours take, and say the same", async () => {
  const client = await mcpTools(server);
  try {
    for (const [name, { spec }] of Object.entries(browserEnv().tools ?? {})) {
      const theirs = client.tools[name].spec;
      expect([name, spec.description]).toEqual([name, theirs.description]);
      const [own, known] = [spec.parameters, theirs.parameters] as Record<string, Record<string, unknown>>[];
      expect(known.properties).toMatchObject(own.properties);
      expect(own.required ?? []).toEqual(known.required ?? []);
    }
    const own = await answers("dom");
    await saidBy(client, "browser_navigate", { url: "about:blank" });
    for (const [name, input] of sameTexts) {
      // what follows is the page, which is another one here
      const beginning = (await saidBy(client, name, input)).split("\n").slice(0, 2).join("\n");
      expect(own).toContainEqual(expect.stringContaining(beginning));
    }
    expect(await saidBy(client, "browser_wait_for", { text: "absent" })).toContain(waitedInVain);
  } finally {
    await client.close();
  }
});

/** What the tools that wait, fill in and list answer, on a page where the first link, field and list are those of the shop's login. */
async function answers(pages: BrowserEnvOptions["pages"]): Promise<string[]> {
  const env = browserEnv({ pages, sites: ["shop"], actionMs: 20_000 });
  const episode = new Episode(env, await env.tasks.at("train", 0), { signal });
  expect(await episode.start()).toMatchObject({ role: expect.any(String) });
  const told: string[] = [];
  const call = async (name: string, input: object) => {
    const next = await episode.step(`<tool_call>\n${JSON.stringify({ name, arguments: input })}\n</tool_call>`);
    told.push("role" in next ? next.messages.map(({ content }) => content).join("\n") : next.stop);
    return told.at(-1) ?? "";
  };
  const login = await call("browser_navigate", { url: "http://shop.test/login" });
  const field = (name: string, value: string) => ({
    ...{ name, value, type: "textbox" },
    target: new RegExp(`textbox "${name}" .*?\\[ref=(\\w+)\\]`).exec(login)?.[1] ?? "",
  });
  expect(await call("browser_tabs", { action: "list" })).toBe(
    "### Result\n- 0: (current) [Log in](http://shop.test/login)",
  );
  await call("browser_tabs", { action: "select", index: 9 });
  const filled = await call("browser_fill_form", { fields: [field("User", "ada"), field("Password", "secret")] });
  expect(filled).toMatch(/textbox "User".*: ada[\s\S]*textbox "Password".*: secret/);
  await call("browser_fill_form", { fields: [{ ...field("User", "x"), target: "e999" }] });
  await call("browser_wait_for", { text: "password" });
  await call("browser_wait_for", { time: 0.1 });
  await call("browser_wait_for", {});
  await call("browser_handle_dialog", { accept: true });
  await episode.finish({ stop: "completed" });
  return told;
}

test("forms, waits, tabs and dialogs are answered the same in all pages", async () => {
  const through = await answers({ mcp: server });
  expect(await answers("chromium")).toEqual(through);
  expect(await answers("dom")).toEqual(through);
});

test("episodes are the same through the published server, in Chromium and without a browser", async () => {
  for (const [split, index] of [
    ["train", 0],
    ["train", 3],
    ["train", 5],
    ["new-kinds", 1],
  ] as const) {
    const through = await play({ mcp: server }, split, index);
    expect(through).toMatchObject({ stop: "completed", success: true });
    expect(await play("chromium", split, index)).toEqual(through);
    expect(await play("dom", split, index)).toEqual(through);
  }
});
