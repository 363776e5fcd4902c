import { appendFile, mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { jsonLine } from "../../schema/json-lines.ts";

/** Replies of judges by the hash of what was asked. */
export interface JudgeCache {
  get(key: string): Promise<string | undefined>;
  set(key: string, reply: string): Promise<void>;
}

export interface JudgeCacheOptions {
  /** How many replies are kept in memory; least recently used entries are evicted first. */
  entries: number;
  /** A JSON lines file, read once and appended to, so that later runs reuse it. */
  file: string;
}

const knownJudgeCacheOptions: KnownOptions<JudgeCacheOptions> = { entries: true, file: true };

const Line = z.object({ key: z.string(), reply: z.string() });

export function judgeCache(options: Partial<JudgeCacheOptions> = {}): JudgeCache {
  refuseUnknownOptions("judgeCache", options, knownJudgeCacheOptions);
  const { entries = 10_000, file } = options;
  const replies = new Map<string, string>();
  const keep = (key: string, reply: string) => {
    replies.delete(key);
    replies.set(key, reply);
    const [oldest] = replies.keys();
    if (replies.size > entries) replies.delete(oldest);
  };
  const store = file === undefined ? undefined : openFile(file, keep);
  return {
    async get(key) {
      await store?.read();
      const reply = replies.get(key);
      if (reply !== undefined) keep(key, reply);
      return reply;
    },
    async set(key, reply) {
      await store?.read();
      keep(key, reply);
      await store?.add(jsonLine({ key, reply }));
    },
  };
}

function openFile(file: string, keep: (key: string, reply: string) => void) {
  let reading: Promise<void> | undefined;
  let writing = Promise.resolve();
  let isTorn = false;

  async function load(): Promise<void> {
    const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return "";
      throw error;
    });
    // a killed run may have left an incomplete line
    isTorn = text !== "" && !text.endsWith("\n");
    for (const line of text.split("\n")) {
      const parsed = Line.safeParse(parseLine(line));
      if (parsed.success) keep(parsed.data.key, parsed.data.reply);
    }
    await mkdir(dirname(file), { recursive: true });
  }

  return {
    read: () => {
      reading ??= load();
      return reading;
    },
    add(line: string) {
      const text = isTorn ? `\n${line}` : line;
      isTorn = false;
      const written = writing.then(() => appendFile(file, text));
      // a failed write was reported to its caller; it must not fail later ones
      writing = written.catch(() => {});
      return written;
    },
  };
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
