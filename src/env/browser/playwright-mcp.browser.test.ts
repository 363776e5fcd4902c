import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { mcpTools } from "../../tool/mcp-tools.ts";
import { Episode } from "../episode.ts";
import { type BrowserEnvOptions, browserEnv } from "./browser-env.ts";

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

test("the server's tools take what ours take", async () => {
  const client = await mcpTools(server);
  try {
    for (const [name, { spec }] of Object.entries(browserEnv().tools ?? {})) {
      const theirs = client.tools[name].spec;
      expect([name, spec.description]).toEqual([name, theirs.description]);
      const [own, known] = [spec.parameters, theirs.parameters] as Record<string, Record<string, unknown>>[];
      expect(known.properties).toMatchObject(own.properties);
      expect(own.required ?? []).toEqual(known.required ?? []);
    }
  } finally {
    await client.close();
  }
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
