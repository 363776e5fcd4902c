import { writeFile } from "node:fs/promises";
import { z } from "zod";
import { cutText } from "../../cut-text.ts";
import { type SweBenchTask, sweBenchRecord, sweBenchTask } from "../../env/environments/swe-bench-tasks.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { defaultSandbox } from "../../tool/sandbox/default-sandbox.ts";
import type { Box, Ended, Sandbox } from "../../tool/sandbox/sandbox.ts";
import type { AttemptOutput, Benchmark, BenchmarkMessage, BenchmarkTask, Chat } from "./benchmark.ts";
import { askPython, openPython } from "./benchmark-bridge.ts";
import { findFile, readRecords } from "./read-records.ts";
import { commitArchive, repositoryOf } from "./swe-bench-repository.ts";
import { assistantMessage } from "./tau.ts";

const Row = sweBenchRecord.extend({
  // these become paths and arguments of git
  instance_id: z.string().regex(/^\w[\w.-]*$/, "expected a name of letters, digits, `.`, `_` and `-`"),
  repo: z.string().regex(/^[\w.-]+\/[\w.-]+$/, "expected owner/name"),
  base_commit: z.string().regex(/^[0-9a-f]{1,64}$/i, "expected the number of a commit"),
  eval_script: z.string(),
  log_parser: z.string(),
  eval_type: z.string(),
});
const Script = z.object({ script: z.string() });
const Graded = z.object({ report: z.looseObject({ resolved: z.boolean() }) });
const Command = z.object({ command: z.string() });

export interface SweBenchOptions {
  /** Where a task's commands run; bubblewrap by default, with what this machine has installed. */
  sandboxFor?: (task: SweBenchTask) => Sandbox;
  /** The path of the repository in boxes that have it already, such as `/testbed`; otherwise it is copied from `repositories/`. */
  testbed?: string;
  /** Turns of the model; 50 by default. */
  steps?: number;
  /** Of the script that runs the tests; half an hour by default. */
  testsMs?: number;
}

const knownSweBenchOptions: KnownOptions<SweBenchOptions> = {
  sandboxFor: true,
  testbed: true,
  steps: true,
  testsMs: true,
};

const commandMs = 120_000;
const shownChars = 10_000;
const copied = "testbed";
const bash = {
  name: "bash",
  description: "Runs a command in the folder of the repository, and returns what it prints. Changes of files stay.",
  parameters: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
};
const rule =
  "You fix an issue in a repository. Look around, change files and run programs with the tool bash. Tests are not yours to change. When the issue is fixed, answer without calling the tool: what differs from the first commit is your fix.";

/**
 * SWE-bench: the model works on a copy of the repository with a shell, its changes are applied to a fresh copy, the record's script runs the tests, and
 * the package swebench reads their log and says what is resolved.
 */
export function sweBench(options: SweBenchOptions = {}): Benchmark {
  refuseUnknownOptions("sweBench", options, knownSweBenchOptions);
  return {
    name: "swe-bench",
    description: "SWE-bench: issues of repositories, fixed with a shell; resolved by the package swebench",
    files:
      "test.jsonl (records with eval_script, log_parser, eval_type), repositories/<owner>__<name>; Python with swebench",
    async load(folder) {
      const rows = await readRecords(await findFile(folder, ["test.jsonl", /\.jsonl$/]), Row);
      await askPython("swe-bench", folder);
      return rows.map((row) => toTask(folder, row, options));
    },
    write: (path, tasks, attempts) => writePredictions(path, tasks, attempts),
  };
}

function toTask(folder: string, row: z.infer<typeof Row>, options: SweBenchOptions): BenchmarkTask {
  const task = sweBenchTask(row);
  // found out when tasks are loaded, not after an hour
  const repository = options.testbed === undefined ? repositoryOf(folder, task) : undefined;
  const sandbox = () => options.sandboxFor?.(task) ?? defaultSandbox();
  const open = async (signal: AbortSignal): Promise<Workplace> => {
    const box = await sandbox().open({ limits: { timeoutMs: commandMs } }, signal);
    if (repository === undefined) return { box, path: options.testbed!, ready: async () => {} };
    return { box, path: copied, ready: () => unpack(box, repository, task.commit, signal) };
  };
  return {
    id: task.id,
    text: task.statement,
    category: task.repository,
    async attempt(chat, { signal }) {
      const patch = await solve(await open(signal), task, chat, options.steps ?? 50, signal);
      if (patch.trim() === "") return { success: false, output: { patch, resolved: false } };
      await using python = await openPython("swe-bench", folder, { record: row }, signal);
      const { script } = Script.parse(python.begun);
      const log = await testLog(await open(signal), patch, script, options.testsMs ?? 1_800_000, signal);
      if (log === undefined) return { success: false, output: { patch, resolved: false } };
      const { report } = Graded.parse(await python.ask("grade", { patch, log }));
      return { success: report.resolved, output: { patch, resolved: report.resolved } };
    },
  };
}

interface Workplace {
  readonly box: Box;
  /** Of the repository. */
  readonly path: string;
  ready(): Promise<void>;
}

async function unpack(box: Box, repository: string, commit: string, signal: AbortSignal): Promise<void> {
  await box.write("testbed.tar", await commitArchive(repository, commit, signal));
  const script = `mkdir ${copied} && tar -xf testbed.tar -C ${copied} && rm testbed.tar`;
  const ended = await box.exec("bash", { args: ["-c", script], signal });
  if (ended.kind === "exited" && ended.code === 0) return;
  throw new LudusError("swe-bench-box", { got: describe(ended), expected: "a box with bash, tar and git" });
}

/** The model's changes, as a patch. */
async function solve(place: Workplace, task: SweBenchTask, chat: Chat, steps: number, signal: AbortSignal) {
  const inside = (command: string) => `cd '${place.path}' && ${command}`;
  try {
    await place.ready();
    const messages: BenchmarkMessage[] = [
      { role: "system", content: rule },
      { role: "user", content: task.statement },
    ];
    for (let step = 0; step < steps; step++) {
      const reply = await chat({ messages, tools: [bash] });
      messages.push(assistantMessage(reply, reply.calls));
      if (reply.calls.length === 0) break;
      for (const call of reply.calls) {
        const command = commandOf(call.arguments);
        const ended =
          command === undefined
            ? undefined
            : await place.box.exec("bash", { args: ["-c", inside(command)], limits: { timeoutMs: commandMs }, signal });
        const content = ended === undefined ? "Error: expected { command }" : shown(ended);
        messages.push({ role: "tool", tool_call_id: call.id, name: call.name, content });
      }
    }
    const script = inside(`git add -A && git -c core.fileMode=false diff --cached --binary '${task.commit}'`);
    const ended = await place.box.exec("bash", { args: ["-c", script], limits: { outputBytes: 16 << 20 }, signal });
    return ended.kind === "exited" && ended.code === 0 ? ended.stdout : "";
  } finally {
    await place.box.close();
  }
}

/** What the tests print with the patch; undefined where it does not apply. */
async function testLog(place: Workplace, patch: string, script: string, timeoutMs: number, signal: AbortSignal) {
  const { box } = place;
  try {
    await place.ready();
    await box.write("fix.diff", patch);
    await box.write("eval.sh", script.replaceAll("/testbed", "$TESTBED"));
    const tries = ["git apply", "git apply --3way", "git apply --reject", "patch --batch --fuzz=5 -p1 -i"];
    // each from a clean tree, as one that failed leaves half of it applied
    const clean = "git checkout --quiet -- . && git clean --quiet -fd";
    const apply = tries.map((each) => `{ ${clean} && ${each} "$AT/fix.diff"; }`).join(" || ");
    const begin = `AT="$PWD"; cd '${place.path}' && export TESTBED="$PWD" HOME="$AT"`;
    const applied = await box.exec("bash", { args: ["-c", `${begin} && { ${apply}; }`], signal });
    if (applied.kind !== "exited" || applied.code !== 0) return undefined;
    const ended = await box.exec("bash", {
      args: ["-c", `${begin} && bash "$AT/eval.sh" 2>&1`],
      limits: { timeoutMs, outputBytes: 64 << 20 },
      signal,
    });
    return ended.kind === "timeout" ? `${ended.stdout}\n>>>>> Tests Timed Out` : ended.stdout;
  } finally {
    await box.close();
  }
}

function commandOf(text: string): string | undefined {
  try {
    return Command.safeParse(JSON.parse(text)).data?.command;
  } catch {
    return undefined;
  }
}

function shown(ended: Ended): string {
  const text = cutText(`${ended.stdout}${ended.stderr}`, shownChars);
  return ended.kind === "exited" && ended.code === 0 ? text || "(nothing printed)" : `${text}\n(${describe(ended)})`;
}

function describe(ended: Ended): string {
  return ended.kind === "exited" ? `exit status ${ended.code}: ${ended.stderr.slice(0, 300)}` : ended.kind;
}

/** `predictions.jsonl` as the official harness reads it, and a report in its form, of the first attempt at each task. */
async function writePredictions(path: string, tasks: readonly BenchmarkTask[], attempts: readonly AttemptOutput[]) {
  const measured = new Set(tasks.map(({ id }) => id));
  // the results may hold more: earlier programs measured other tasks
  const first = attempts.filter(({ attempt, task }) => attempt === 0 && measured.has(task));
  const predictions = first.map(({ task, model, output }) => {
    return { instance_id: task, model_name_or_path: model, model_patch: output?.patch ?? "" };
  });
  const [at, reportAt] = [`${path}.predictions.jsonl`, `${path}.report.json`];
  await writeFile(at, predictions.map((row) => `${JSON.stringify(row)}\n`).join(""));
  await writeFile(reportAt, `${JSON.stringify(runReport(tasks, first), undefined, 4)}\n`);
  return [at, reportAt];
}

function runReport(tasks: readonly BenchmarkTask[], attempts: readonly AttemptOutput[]) {
  const idsOf = (chosen: readonly AttemptOutput[]) => chosen.map(({ task }) => task).sort();
  const isEmpty = ({ output }: AttemptOutput) => String(output?.patch ?? "").trim() === "";
  const submitted = idsOf(attempts);
  const ids = {
    completed: idsOf(attempts.filter((each) => !isEmpty(each))),
    incomplete: tasks
      .map(({ id }) => id)
      .filter((id) => !submitted.includes(id))
      .sort(),
    empty_patch: idsOf(attempts.filter(isEmpty)),
    submitted,
    resolved: idsOf(attempts.filter(({ success }) => success)),
    unresolved: idsOf(attempts.filter((each) => !each.success && !isEmpty(each))),
    error: [] as readonly string[],
  };
  const counts = Object.entries(ids).filter(([name]) => name !== "incomplete");
  return {
    total_instances: tasks.length,
    ...Object.fromEntries(counts.map(([name, list]) => [`${name}_instances`, list.length])),
    ...Object.fromEntries(Object.entries(ids).map(([name, list]) => [`${name}_ids`, list])),
    schema_version: 2,
  };
}
