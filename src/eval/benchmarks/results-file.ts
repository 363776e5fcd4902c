import { appendFile, mkdir, readFile, truncate } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";

// JSON lines: what was measured, then one line for each attempt that was made to its end.

export interface ResultsHeader {
  readonly benchmark: string;
  readonly model: string;
  readonly temperature: number;
  readonly seed: number;
  /** Who plays the user, where the benchmark has one: another user is another measurement. */
  readonly user?: string;
}

const knownResultsHeader: KnownOptions<ResultsHeader> = {
  benchmark: true,
  model: true,
  temperature: true,
  seed: true,
  user: true,
};
const Header = z.object({
  benchmark: z.string(),
  model: z.string(),
  temperature: z.number(),
  seed: z.number(),
  user: z.string().optional(),
});
const Attempt = z.object({
  task: z.string(),
  attempt: z.number(),
  success: z.boolean(),
  metrics: z.record(z.string(), z.number()),
  promptTokens: z.number(),
  completionTokens: z.number(),
  userPromptTokens: z.number().optional(),
  userCompletionTokens: z.number().optional(),
  output: z.record(z.string(), z.unknown()).optional(),
});

export type AttemptRecord = Readonly<z.infer<typeof Attempt>>;

export interface ResultsFile {
  /** What earlier programs have left. */
  readonly earlier: readonly AttemptRecord[];
  /** Rejects where the file cannot be written. */
  add(record: AttemptRecord): Promise<void>;
}

/** Opens the results of a measurement to go on with, or begins them. A line that a killed program left half is dropped. */
export async function openResults(path: string, header: ResultsHeader): Promise<ResultsFile> {
  refuseUnknownOptions("openResults", header, knownResultsHeader);
  const text = await textOf(path);
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  if (whole.length < text.length) await truncate(path, Buffer.byteLength(whole));
  const [first, ...lines] = whole.split("\n").filter((line) => line !== "");
  if (first === undefined) {
    await mkdir(dirname(path), { recursive: true });
    await appendFile(path, `${JSON.stringify(header)}\n`);
  } else checkHeader(path, first, header);
  let written = Promise.resolve();
  return {
    earlier: lines.map((line, index) => readLine(path, index + 2, line)),
    add(record) {
      written = written.then(() => appendFile(path, `${JSON.stringify(record)}\n`));
      return written;
    },
  };
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return "";
    throw error;
  }
}

function checkHeader(path: string, line: string, header: ResultsHeader): void {
  const read = Header.safeParse(parsed(line));
  if (read.success && JSON.stringify(read.data) === JSON.stringify(Header.parse(header))) return;
  throw new LudusError("other-results", {
    got: `${path} of ${read.success ? JSON.stringify(read.data) : "something else"}`,
    expected: JSON.stringify(Header.parse(header)),
    hint: "Name another file with --results, or delete this one.",
  });
}

function readLine(path: string, number: number, line: string): AttemptRecord {
  const read = Attempt.safeParse(parsed(line));
  if (read.success) return read.data;
  throw new LudusError("other-results", { got: `${path}, line ${number}`, expected: "an attempt of a benchmark" });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
