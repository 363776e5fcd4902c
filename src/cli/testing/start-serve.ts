import { EventEmitter } from "node:events";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { embedded } from "../../engine/embedded/embedded.ts";
import { tiny } from "../../engine/model/model-config.ts";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { serve } from "../commands/serve.ts";

/** A folder with a small random model. */
export async function makeModelFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "ludus-serve-"));
  const tokenizer = byteTokenizer();
  const { vocabularySize } = tokenizer;
  const engine = await embedded({ model: tiny({ vocabularySize, contextLength: 256 }), tokenizer, threads: 1 });
  await engine.save(folder);
  await engine.close();
  return folder;
}

export interface Served {
  readonly client: OpenAI;
  /** What was written to standard error. */
  readonly notes: readonly string[];
  readonly stop: () => Promise<number>;
}

/** Runs `ludus serve`; `stop` presses Ctrl-C and resolves with its exit status. */
export async function startServe(args: readonly string[]): Promise<Served> {
  const signals = new EventEmitter();
  const notes: string[] = [];
  const { promise: printed, resolve, reject } = Promise.withResolvers<string>();
  const terminal = {
    stdout: { write: resolve },
    stderr: { write: (text: string) => notes.push(text) },
    on: signals.on.bind(signals),
    off: signals.off.bind(signals),
  };
  const ended = serve.run(args, terminal);
  ended.catch(reject);
  const client = new OpenAI({ baseURL: (await printed).trim(), apiKey: "none", maxRetries: 0 });
  return {
    client,
    notes,
    stop: async () => {
      signals.emit("SIGINT");
      return await ended;
    },
  };
}
