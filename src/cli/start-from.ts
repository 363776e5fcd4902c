import type { RunCatalog } from "../store/index.ts";
import { type FromRun, type FromRunOptions, fromRun, type TrainConfig } from "../train/index.ts";
import { isFromRun } from "../train/parent.ts";
import { usageError } from "./parse-options.ts";

export interface StartOptions {
  readonly from?: string;
  readonly optimizer?: FromRunOptions["optimizer"];
  readonly set?: readonly string[];
}

/** `runs/first@40`, `runs/first@best` or `runs/first`, which means its last checkpoint. */
export function parseFrom(text: string, optimizer: FromRunOptions["optimizer"] = "fresh"): FromRun {
  const at = text.lastIndexOf("@");
  const [run, step] = at < 0 ? [text, "last"] : [text.slice(0, at), text.slice(at + 1)];
  if (run !== "" && (step === "last" || step === "best")) return fromRun(run, { step, optimizer });
  if (run !== "" && /^\d+$/.test(step)) return fromRun(run, { step: Number(step), optimizer });
  throw usageError("bad-option", {
    got: `--from ${text}`,
    expected: "<run>@<step>, with a number, best or last",
    hint: "As in --from runs/first@40; without @ it is the last checkpoint. ludus checkpoints <run> lists them.",
  });
}

/** The configuration with its start from another run: as asked for, or as a resumed run was stored with. */
export async function withStart(
  config: TrainConfig,
  { from, optimizer, set = [] }: StartOptions,
  resumed: { readonly runs: RunCatalog; readonly run: string } | undefined,
): Promise<TrainConfig> {
  if (from === undefined) {
    if (optimizer !== undefined)
      throw usageError("bad-option", { got: "--optimizer alone", expected: "--from with it" });
    const stored = resumed === undefined ? undefined : await storedStart(resumed.runs, resumed.run);
    return stored === undefined ? config : { ...config, warmStart: stored };
  }
  const ofWarmStart = set.find((setting) => setting.startsWith("warmStart."));
  if (ofWarmStart !== undefined) {
    throw usageError("bad-set", {
      got: `--set ${ofWarmStart} with --from`,
      expected: "one of them: a checkpoint takes the place of the warm start",
    });
  }
  return { ...config, warmStart: parseFrom(from, optimizer) };
}

async function storedStart(runs: RunCatalog, run: string): Promise<FromRun | undefined> {
  const reader = await runs.open(run);
  try {
    const config: unknown = await reader.config();
    const start: unknown = typeof config === "object" && config !== null ? Reflect.get(config, "warmStart") : undefined;
    const isStart = typeof start === "object" && start !== null && "name" in start && typeof start.name === "string";
    return isStart && isFromRun({ ...start, name: String(start.name) }) ? (start as FromRun) : undefined;
  } finally {
    await reader.close();
  }
}
