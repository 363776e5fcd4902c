import { bounds } from "../../bounds.ts";
import { cutText } from "../../cut-text.ts";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import { describeEnd } from "../../tool/sandbox/describe-end.ts";
import { runProcess } from "../../tool/sandbox/run-process.ts";
import type { Ended } from "../../tool/sandbox/sandbox.ts";
import type { AgentAttempt } from "../agent-attempt.ts";
import { type ModelAccess, modelAccess } from "./model-access.ts";
import { withoutSecrets } from "./without-secrets.ts";

export interface CommandAgentOptions {
  /** A program, no line of a shell: a name looked up in PATH, or a path. */
  command: string;
  args?: readonly string[];
  /** Where the task is given: on standard input by default, or as the last argument. */
  task?: "stdin" | "argument";
  cwd?: string;
  /** Added to PATH, HOME and what says where the policy is. Nothing else is inherited. */
  env?: Readonly<Record<string, string>>;
  /** Of standard output and standard error together; 8 MiB by default. */
  outputBytes?: number;
  /** Of the program and its children together; no limit by default. */
  memoryMb?: number;
}

const known: KnownOptions<CommandAgentOptions> = {
  command: true,
  args: true,
  task: true,
  cwd: true,
  env: true,
  outputBytes: true,
  memoryMb: true,
};

const longestMs = 2 ** 31 - 1;

/**
 * An agent behind a command line: a function that starts a process for a task and gives what it wrote to standard output, without
 * white space at its ends. The variables that the clients of OpenAI, Anthropic and Google read say where the policy is.
 *
 *     const ask = commandAgent({ command: "python3", args: ["agent.py"] });
 *     const env = agentEnv({ name, tasks, serve: {}, run: async (task, attempt) => score(task, await ask(task.question, attempt)) });
 *
 * A process per attempt: bound them with `concurrency` of `agentEnv`. The process and its children are killed when the attempt ends. One that cannot be started, exits with another code than 0 or
 * writes too much ends the attempt as `env-crash`.
 */
export function commandAgent(options: CommandAgentOptions): (task: string, attempt: AgentAttempt) => Promise<string> {
  refuseUnknownOptions("commandAgent", options, known);
  const { command, args = [], cwd, task: place = "stdin", env = {}, memoryMb } = options;
  refuseOtherValue("task of commandAgent", place, ["stdin", "argument"]);
  // the attempt's own limit ends it
  const limits = {
    timeoutMs: longestMs,
    outputBytes: options.outputBytes ?? bounds.agentAnswerBytes,
    ...defined({ memoryMb }),
  };
  return (task, attempt) => withoutSecrets({ ...env, apiKey: attempt.apiKey }, () => answerTo(task, attempt));

  async function answerTo(task: string, attempt: AgentAttempt): Promise<string> {
    const { PATH = "/usr/bin:/bin", HOME = "/" } = process.env;
    const ended = await runProcess(
      {
        command,
        args: place === "argument" ? [...args, task] : args,
        env: { PATH, HOME, LANG: "C.UTF-8", ...modelVariables(modelAccess(attempt)), ...env },
        limits,
        ...(place === "stdin" ? { input: task } : {}),
        ...defined({ cwd }),
      },
      attempt.signal,
    );
    if (ended.kind === "exited" && ended.code === 0) return ended.stdout.trim();
    attempt.signal.throwIfAborted();
    throw failure(command, ended);
  }
}

/** As the clients of the protocols know them, and under names of our own. */
export function modelVariables({ baseUrl, apiKey, model, id, seed }: ModelAccess): Record<string, string> {
  const root = baseUrl.replace(/\/v1$/, "");
  return {
    OPENAI_BASE_URL: baseUrl,
    OPENAI_API_KEY: apiKey,
    ANTHROPIC_BASE_URL: root,
    ANTHROPIC_API_KEY: apiKey,
    GOOGLE_GEMINI_BASE_URL: root,
    GEMINI_API_KEY: apiKey,
    LUDUS_BASE_URL: baseUrl,
    LUDUS_API_KEY: apiKey,
    LUDUS_MODEL: model,
    LUDUS_ATTEMPT: id,
    LUDUS_SEED: `${seed}`,
  };
}

function failure(command: string, ended: Ended): LudusError {
  const said = ended.stderr.trim() === "" ? ended.stdout : ended.stderr;
  const end = said.trim() === "" ? "" : `: ${cutText(said.trim(), bounds.quotedChars * 5)}`;
  const code = ended.kind === "not-started" ? "agent-unreachable" : "agent-failed";
  return new LudusError(code, {
    got: `${command}, which ${describeEnd(ended)}${end}`,
    expected: "a program that writes its answer to standard output and exits with 0",
  });
}
