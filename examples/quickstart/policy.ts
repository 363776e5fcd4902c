import { tinker } from "../../src/engine/index.ts";
import { fromPretrained, fromScratch, type MakePolicy, torch } from "../../src/index.ts";

export interface PolicyOptions {
  engine: string;
  url?: string | undefined;
  model?: string | undefined;
}

/** A new transformer on the embedded engine or PyTorch; an adapter on a trained one at a server of the Tinker protocol. */
export function quickstartPolicy({ engine, url, model }: PolicyOptions): MakePolicy {
  if (engine === "embedded") return fromScratch({ size: "tiny" });
  if (engine === "torch") return fromScratch({ size: "tiny", engine: torch });
  if (engine === "tinker" && url !== undefined && model !== undefined) {
    return fromPretrained(model, { renderer: "compact", engine: (start) => tinker({ ...start, url, rank: 8 }) });
  }
  const problem = engine === "tinker" ? "tinker needs --url and --model" : `--engine ${engine}`;
  console.error(
    `${problem}: expected embedded, torch, or tinker --url http://127.0.0.1:8000 --model <the base's folder>`,
  );
  process.exit(2);
}
