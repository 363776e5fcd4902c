import { dirname, join, normalize, resolve, sep } from "node:path";
import { defined } from "../defined.ts";
import { consoleMonitor, jsonlMonitor, type Monitor } from "../monitor/index.ts";
import { addressedRuns } from "../store/index.ts";
import { isPostgresAddress } from "../store/postgres/address.ts";
import { type TrainConfig, type TrainResult, train } from "../train/index.ts";
import { isFromRun } from "../train/parent.ts";
import type { Terminal } from "./command.ts";
import { evalJson, evalTable } from "./eval-table.ts";
import { loadConfig } from "./load-config.ts";
import { paintFor } from "./paint.ts";
import { chooseRunDirectory } from "./run-directory.ts";
import { setFields } from "./set-fields.ts";
import { withStart } from "./start-from.ts";

export interface TrainOptions {
  readonly set?: readonly string[];
  readonly run?: string;
  readonly from?: string;
  readonly optimizer?: "keep" | "fresh";
  readonly "no-cache"?: boolean;
  readonly resume?: boolean;
  readonly accept?: readonly string[];
  readonly events?: string;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

/** Trains as a file says, and tells how it went. Returns the exit status. */
export async function trainFile(
  file: string,
  options: TrainOptions,
  terminal: Terminal,
  interrupt: AbortSignal,
): Promise<number> {
  const given = setFields(await loadConfig(file), options.set ?? []);
  const wanted = options.run ?? given.run;
  const isResumed = options.resume === true;
  const runs = given.store ?? addressedRuns();
  const isStored = given.store !== undefined;
  const run = await chooseRunDirectory(runs, { wanted, isResumed, env: given.env.name, root: "runs", isStored });
  const config = cached(await withStart(given, options, isResumed ? { runs, run } : undefined), run, options);
  const signal = config.signal === undefined ? interrupt : AbortSignal.any([config.signal, interrupt]);
  const accept = [...(config.accept ?? []), ...(options.accept ?? []).flatMap((paths) => paths.split(","))];
  const result = await train({
    ...config,
    source: resolve(file),
    run,
    accept,
    signal,
    monitors: monitorsOf(config, options, terminal),
  });
  await result.policy.engine.close();
  if (options.json) terminal.stdout.write(`${JSON.stringify(resultJson(run, result))}\n`);
  else terminal.stdout.write(resultText(file, run, result, terminal));
  return isCutShort(result.reason) ? 1 : 0;
}

/** Warm starts that were made before are used again, unless the file or the command says otherwise. */
function cached(config: TrainConfig, run: string, options: TrainOptions): TrainConfig {
  const { warmStart } = config;
  if (warmStart === undefined || isFromRun(warmStart)) return config;
  const cache = options["no-cache"] ? false : (warmStart.cache ?? join(runsFolder(run), ".warm-starts"));
  return { ...config, warmStart: { ...warmStart, cache } };
}

/** What a run shares with its neighbours is above it; all runs below runs/ share one folder. */
function runsFolder(run: string): string {
  if (isPostgresAddress(run)) return "runs";
  return normalize(run).split(sep)[0] === "runs" ? "runs" : dirname(run);
}

function monitorsOf(config: TrainConfig, { quiet, json, events }: TrainOptions, { stderr }: Terminal): Monitor[] {
  const given = config.monitors ?? [];
  const isConsole = ({ name }: Monitor) => name === "console";
  // one of the file's own may write to stdout, where only the result belongs
  const kept = quiet || json ? given.filter((monitor) => !isConsole(monitor)) : given;
  return [
    ...kept,
    ...(quiet || kept.some(isConsole) ? [] : [consoleMonitor({ stream: stderr })]),
    ...(quiet ? [] : [finishedNote(config, stderr)]),
    ...(events === undefined ? [] : [jsonlMonitor({ file: events })]),
  ];
}

/** A run that is resumed after its end does nothing, which should not look like learning. */
function finishedNote({ steps, warmStart }: TrainConfig, stderr: Terminal["stderr"]): Monitor {
  const total = steps + (warmStart?.steps ?? 0);
  return {
    name: "finished-note",
    record(event) {
      if (event.type !== "run-start" || event.resumedAtStep === undefined || event.resumedAtStep + 1 < total) return;
      const done = event.resumedAtStep + 1 - (warmStart?.steps ?? 0);
      stderr.write(`All ${done} steps are done already. More of them: --set steps=${moreThan(done)}.\n`);
    },
  };
}

/** Twice as many, so that the advice leads somewhere however many of them there are. */
const moreThan = (done: number) => Math.max(1, done) * 2;

/** Stopped by something in the file, such as the doctor: an interrupt has an exit status of its own. */
function isCutShort(reason: TrainResult["reason"]): boolean {
  return reason === "stopped" || reason === "doctor" || reason === "failed";
}

function resultJson(run: string, { policy: _policy, before, after, ...result }: TrainResult): object {
  const reports = {
    ...defined({ before: before ? evalJson(before) : undefined, after: after ? evalJson(after) : undefined }),
  };
  return { run, ...result, ...reports };
}

function resultText(file: string, run: string, { before, after, ...result }: TrainResult, terminal: Terminal): string {
  const paint = paintFor(terminal.stdout);
  const reports = defined({ before, after });
  const table = evalTable(reports, paint);
  const steps = `${result.steps} ${result.steps === 1 ? "step" : "steps"}`;
  const next = isCutShort(result.reason)
    ? `Saved up to there; to go on, the same command with --run ${run} --resume.`
    : `Look at it: npx ludus replay ${run} best, npx ludus doctor ${run}. Measure it: npx ludus eval ${run} --file ${file}.`;
  const head = `${result.reason} after ${steps}, ${result.seconds.toFixed(1)} s; kept in ${run}`;
  return `${table === "" ? "" : `\n${table}\n`}${paint("bold", head)}\n${next}\n`;
}
