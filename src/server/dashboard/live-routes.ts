import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { z } from "zod";
import { collect } from "../../schema/index.ts";
import type { RunCatalog } from "../../store/index.ts";
import type { LiveChange } from "./answers.ts";
import type { OpenRuns } from "./open-runs.ts";
import { readQuery } from "./request.ts";

const LiveQuery = z.object({ run: z.array(z.string()).max(16).default([]) });
const heartbeats = 15;

/**
 * Server-sent events: `change` for each watched run that was written to, or, where none is named, `list` when any was. They
 * say that there is something new; what it is, the page asks for.
 */
export function liveRoutes(runs: OpenRuns, everyMs: number): Hono {
  const routes = new Hono();
  routes.get("/live", (context) => {
    const { run: watched } = readQuery(context, LiveQuery, ["run"]);
    return streamSSE(context, async (stream) => {
      const seen = new Map<string, string>();
      for (let beat = 0; !stream.aborted && !stream.closed; beat++) {
        if (watched.length === 0) {
          const version = await listVersion(runs.catalog);
          if (seen.get("") !== version && seen.size > 0) await stream.writeSSE({ event: "list", data: "{}" });
          seen.set("", version);
        }
        for (const run of watched) {
          const change = await changeOf(runs, run, seen);
          if (change !== undefined) await stream.writeSSE({ event: "change", data: JSON.stringify(change) });
        }
        if (beat % heartbeats === 0) await stream.write(": here\n\n");
        await stream.sleep(everyMs);
      }
    });
  });
  return routes;
}

async function changeOf(runs: OpenRuns, run: string, seen: Map<string, string>): Promise<LiveChange | undefined> {
  try {
    const { version, changed } = await runs.find(run);
    if (seen.get(run) === version) return undefined;
    seen.set(run, version);
    const step = await runs.read(run, (reader) => reader.latestStep());
    return { run, changed, step: step ?? -1 };
  } catch {
    // it was removed, or is just being made: the next look will tell
    return undefined;
  }
}

async function listVersion(catalog: RunCatalog): Promise<string> {
  const [newest] = await collect(catalog.list({ limit: 1 }));
  return `${await catalog.count()} ${newest?.version ?? ""}`;
}
