import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { BenchmarkTask } from "../eval/benchmarks/benchmark.ts";
import type { BenchmarkReport } from "../eval/benchmarks/benchmark-report.ts";
import { chatModel, onlyModel } from "../eval/benchmarks/chat-model.ts";
import { benchmarkOf } from "../eval/benchmarks/index.ts";
import { type AttemptRecord, openResults } from "../eval/benchmarks/results-file.ts";
import { runBenchmark } from "../eval/benchmarks/run-benchmark.ts";
import { modelUser, scriptedUser } from "../eval/benchmarks/user-model.ts";
import { type ContaminationReport, contamination } from "../eval/contamination.ts";
import type { Interval } from "../eval/index.ts";
import { successInterval } from "../eval/success-interval.ts";
import type { Terminal } from "./command.ts";
import { figure, interval } from "./number-text.ts";
import { harmless, type Paint, paintFor } from "./paint.ts";
import { usageError } from "./parse-options.ts";
import { ProgressLine } from "./progress-line.ts";
import { textTable } from "./text-table.ts";

export interface EvalBenchmarkOptions {
  readonly benchmark?: string;
  readonly data?: string;
  readonly model?: string;
  readonly user?: string;
  readonly category?: string;
  readonly against?: string;
  readonly results?: string;
  readonly price?: string;
  readonly concurrency?: number;
  readonly retries?: number;
  readonly tasks?: number;
  readonly attempts?: number;
  readonly temperature?: number;
  readonly seed?: number;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

/** Measures a model behind an endpoint on a public benchmark. Returns the exit status. */
export async function evalBenchmark(
  options: EvalBenchmarkOptions,
  { stdout, stderr }: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const asked = checkOptions(options);
  const tasks = ofCategory(await asked.benchmark.load(asked.data), options.category).slice(0, options.tasks);
  const overlap =
    options.against === undefined ? undefined : contamination(trainingTexts(options.against), textsOf(tasks));
  const { temperature = 0, seed = 1, attempts = 1 } = options;
  const apiKey = process.env.OPENAI_API_KEY || undefined;
  const [endpoint, named] = asked.model.split("#");
  const model = named || (await onlyModel(endpoint, apiKey, signal));
  const path =
    options.results ?? join("benchmarks", `${asked.benchmark.name}-${model.replace(/[^\w.-]+/g, "-")}.jsonl`);
  const user = options.user ?? (asked.benchmark.hasUser ? `${endpoint}#${model}` : undefined);
  const played = user === undefined ? undefined : await userOf(user, apiKey, options.retries, signal);
  if (options.user === undefined && played !== undefined && !options.quiet)
    stderr.write(`${harmless(model)} plays the user too; --user names another model, or a file with what is said.\n`);
  const header = { benchmark: asked.benchmark.name, model, temperature, seed };
  const results = await openResults(path, played === undefined ? header : { ...header, user: played.name });
  const progress = options.quiet ? undefined : new ProgressLine(stderr, "attempts", tasks.length * attempts);
  const { concurrency = 8, retries } = options;
  try {
    const chat = chatModel({
      ...{ endpoint, model, temperature },
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(retries === undefined ? {} : { retries }),
    });
    const onAttempt = () => progress?.add();
    const made = new Map(results.earlier.map((record) => [`${record.attempt} ${record.task}`, record]));
    const kept = {
      ...results,
      add(record: AttemptRecord) {
        made.set(`${record.attempt} ${record.task}`, record);
        return results.add(record);
      },
    };
    const settings = { attempts, concurrency, seed, signal, results: kept, onAttempt };
    const report = await runBenchmark(
      tasks,
      chat,
      played === undefined ? settings : { ...settings, user: played.user },
    );
    if (signal.aborted) {
      stderr.write(
        `${report.made} of ${tasks.length * attempts} attempts are in ${path}; the same command goes on from there.\n`,
      );
      return 0;
    }
    progress?.end();
    const written = await asked.benchmark.write?.(
      path,
      tasks,
      [...made.values()].map((record) => ({ ...record, model })),
    );
    const about = {
      benchmark: asked.benchmark.name,
      model,
      results: path,
      ...(written && { written }),
      ...costOf(report, asked.price),
    };
    const full = {
      ...about,
      ...report,
      ...(overlap === undefined ? {} : { contamination: withoutTexts(overlap, report, tasks) }),
    };
    stdout.write(options.json ? `${JSON.stringify(full)}\n` : reportTable(full, paintFor(stdout)));
    return 0;
  } finally {
    progress?.end();
  }
}

interface FullReport extends BenchmarkReport {
  readonly benchmark: string;
  readonly model: string;
  readonly results: string;
  readonly written?: readonly string[];
  readonly dollars?: number;
  readonly contamination?: Omit<ContaminationReport, "shares"> & { readonly successOfClean: Interval };
}

/** Tasks of one category; throws with those that there are. */
function ofCategory(tasks: readonly BenchmarkTask[], category: string | undefined): readonly BenchmarkTask[] {
  if (category === undefined) return tasks;
  const chosen = tasks.filter((task) => task.category === category);
  if (chosen.length > 0) return chosen;
  const known = [...new Set(tasks.flatMap((task) => task.category ?? []))].sort();
  throw usageError("bad-option", {
    got: `--category ${category}`,
    expected: known.length === 0 ? "none, as the tasks have no categories" : `one of ${known.slice(0, 40).join(", ")}`,
  });
}

/** A model behind a server, or a file. */
async function userOf(given: string, apiKey: string | undefined, retries: number | undefined, signal: AbortSignal) {
  if (!/^https?:\/\//.test(given)) return { user: await scriptedUser(given), name: given };
  const [endpoint, named] = given.split("#");
  const model = named || (await onlyModel(endpoint, apiKey, signal));
  const optional = { ...(apiKey === undefined ? {} : { apiKey }), ...(retries === undefined ? {} : { retries }) };
  return { user: modelUser({ endpoint, model, ...optional }), name: model };
}

function checkOptions({ benchmark: name = "", data, model, price, user }: EvalBenchmarkOptions) {
  const benchmark = benchmarkOf(name);
  if (user !== undefined && !benchmark.hasUser) {
    throw usageError("bad-usage", {
      got: `--user with ${name}`,
      expected: "a benchmark with a user: tau-bench, tau2-bench",
    });
  }
  if (data === undefined) {
    throw usageError("bad-usage", { got: "no --data", expected: `the folder with ${benchmark.files}` });
  }
  if (model === undefined || !/^https?:\/\//.test(model)) {
    throw usageError("bad-usage", {
      got: model === undefined ? "no --model" : `--model ${model}`,
      expected: "the address of an OpenAI-compatible server",
      hint: '--model "http://127.0.0.1:8000/v1#name-of-the-model"; ludus serve starts one.',
    });
  }
  const prices = price?.split(",").map(Number);
  if (prices !== undefined && !(prices.length === 2 && prices.every((each) => Number.isFinite(each) && each >= 0))) {
    throw usageError("bad-option", {
      got: `--price ${price}`,
      expected: "dollars for a million tokens in and out: 0.5,1.5",
    });
  }
  return { benchmark, data, model, price: prices };
}

function costOf({ promptTokens, completionTokens }: BenchmarkReport, price: readonly number[] | undefined) {
  return price === undefined ? {} : { dollars: (promptTokens * price[0] + completionTokens * price[1]) / 1e6 };
}

const textsOf = (tasks: readonly BenchmarkTask[]) => tasks.map(({ text }) => text);

/** Success on what stands in the training set nowhere, beside how much does. */
function withoutTexts(overlap: ContaminationReport, report: BenchmarkReport, tasks: readonly BenchmarkTask[]) {
  const { shares, ...rest } = overlap;
  const clean = tasks.flatMap(({ id }, index) => {
    const success = report.successByTask[id];
    if (shares[index] !== 0 || success === undefined) return [];
    return [Array.from({ length: report.attempts }, (_, i) => (i < Math.round(success * report.attempts) ? 1 : 0))];
  });
  return { ...rest, successOfClean: successInterval(clean) };
}

/** Lines of a file; in JSON lines, all texts of a record. */
function* trainingTexts(path: string): Iterable<string> {
  if (!existsSync(path) || !statSync(path).isFile()) {
    throw usageError("no-file", {
      got: `--against ${path}`,
      expected: "a file of training texts: JSON lines, or one text in a line",
    });
  }
  for (const line of readFileSync(path, "utf8").split("\n")) yield textOf(line);
}

function textOf(line: string): string {
  if (!line.startsWith("{") && !line.startsWith("[")) return line;
  try {
    return stringsOf(JSON.parse(line)).join("\n");
  } catch {
    return line;
  }
}

function stringsOf(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsOf) : [];
}

function reportTable(report: FullReport, paint: Paint): string {
  const powers = Object.keys(report.passAtK).filter((k) => k !== "1");
  const { contamination: overlap } = report;
  const attempts = report.attempts === 1 ? "" : `, ${report.attempts} attempts each`;
  const rows = [
    [`${report.tasks} tasks of ${report.benchmark}${attempts}`, harmless(report.model)].map((head) =>
      paint("bold", head),
    ),
    ["success (95 %)", interval(report.success)],
    ...Object.entries(report.metrics).map(([name, value]) => [name, interval(value)]),
    ...powers.map((k) => [`pass@${k}`, interval(report.passAtK[Number(k)])]),
    ...powers.map((k) => [`pass^${k}`, interval(report.passHatK[Number(k)])]),
    ...Object.entries(report.categories).map(([name, { tasks, success }]) => [
      `${harmless(name)} (${tasks})`,
      interval(success),
    ]),
    ["tokens read", figure(report.promptTokens)],
    ["tokens said", figure(report.completionTokens)],
    ...(report.userPromptTokens === undefined
      ? []
      : [
          ["tokens read by the user", figure(report.userPromptTokens)],
          ["tokens said by the user", figure(report.userCompletionTokens ?? 0)],
        ]),
    ...(report.dollars === undefined ? [] : [["cost", `$${report.dollars.toFixed(4)}`]]),
    ...(overlap === undefined
      ? []
      : [
          ["copied words", `${(100 * overlap.mean).toFixed(1)} %`],
          ["tasks mostly copied", `${(100 * overlap.dirty).toFixed(1)} %`],
          ["success where nothing is", interval(overlap.successOfClean)],
        ]),
    ...(report.failed === 0 ? [] : [["failed attempts", String(report.failed)]]),
    ["results", report.results],
    ...(report.written ?? []).map((path) => ["", path]),
  ];
  return `${textTable(rows)}${report.failures
    .slice(0, 5)
    .map((text) => `${harmless(text)}\n`)
    .join("")}`;
}
