import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { compact } from "../../../policy/formats/compact.ts";
import type { RolloutOptions } from "../../../rollout/rollout.ts";
import type { StopReason } from "../../../schema/stop-reason.ts";
import type { CallOutcome } from "../../../schema/turn.ts";
import { generated } from "../../../task/generated.ts";
import { tool } from "../../../tool/define-tool.ts";
import { type Tool, type ToolContext, ToolError } from "../../../tool/tool.ts";
import { defineEnv, type EnvDefinition } from "../../define-env.ts";
import type { Env } from "../../env.ts";
import type { ScriptedEngineOptions } from "./scripted-engine.ts";

export interface Fault {
  readonly name: string;
  /** Where the fault is. */
  readonly where: string;
  readonly env: Env;
  readonly says: ScriptedEngineOptions["says"];
  readonly options: Partial<RolloutOptions>;
  readonly cancelAfterMs?: number;
  readonly stop: StopReason;
  /** How the first call fared, where it came to that. */
  readonly outcome?: CallOutcome;
}

/** Limits of every faulty rollout, in milliseconds; those of isolated tools count from when a worker has the call. */
export const faultLimits = { toolMs: 150, envMs: 150, episodeMs: 10_000 };

const input = z.object({ n: z.number().optional() });
const never = () => new Promise<never>(() => {});
const module = new URL("../fixtures/faulty-tool.ts", import.meta.url);

/** The policy calls `try_it` and then answers; to answer right is worth 1. */
function faulty(changes: Partial<EnvDefinition<null, null>>): Env {
  return defineEnv<null, null>({
    name: "faulty",
    tasks: generated(() => null),
    start: () => ({ state: null, say: "go" }),
    tools: { try_it: tool({ input, run: () => "fine" }) },
    score: ({ answer }) => (answer === "done" ? 1 : 0),
    format: compact(),
    limits: { ...faultLimits, turns: 60 },
    ...changes,
  }) as Env;
}

type Rest = Partial<Omit<Fault, "name" | "where" | "env" | "stop">>;

function fault(
  name: string,
  where: string,
  stop: StopReason,
  changes: Partial<EnvDefinition<null, null>>,
  rest: Rest = {},
) {
  return { name, where, stop, env: faulty(changes), says: ["try_it", "=done"], options: {}, ...rest };
}

function inTool(
  name: string,
  stop: StopReason,
  run: (input: unknown, context: ToolContext) => unknown,
  rest: Rest = {},
): Fault {
  return fault(name, "tool, inline", stop, { tools: { try_it: tool({ input, run }) } }, rest);
}

function apart(act: string, where: "process" | "thread", whenKilled: Tool["whenKilled"] = "stop", heapMb = 48) {
  const limits = { heapMb, outputBytes: 1 << 20 };
  const schema = z.object({ act: z.string().default(act) });
  return { tools: { try_it: tool({ input: schema, whenKilled, isolated: { module, where, pool: 1, limits } }) } };
}

const toolFaults: readonly Fault[] = [
  inTool("waits a minute, and listens to its signal", "tool-timeout", (_, { signal }) => sleep(60_000, "", { signal })),
  inTool("returns a promise that never resolves", "tool-timeout", never),
  inTool("throws", "tool-crash", () => {
    throw new TypeError("undefined is not a function");
  }),
  inTool("throws a ToolError", "completed", () => {
    throw new ToolError("no such page");
  }),
  inTool("returns 64 MB", "completed", () => "x".repeat(64 << 20)),
  inTool("is called in a way that cannot be read", "completed", never, {
    says: ["try_it {", "=done"],
    outcome: "malformed",
  }),
  inTool("is called by a name that does not exist", "completed", never, {
    says: ['try_that{"n":1}', "=done"],
    outcome: "unknown-tool",
  }),
  inTool("is called with wrong arguments", "completed", never, {
    says: ['try_it{"n":"x"}', "=done"],
    outcome: "bad-arguments",
  }),
];

const killedFaults: readonly Fault[] = [
  ...(["process", "thread"] as const).flatMap((where) => [
    fault("loops without end", `tool, ${where}`, "tool-timeout", apart("spin", where)),
    fault("calls process.exit", `tool, ${where}`, "tool-crash", apart("exit", where)),
    fault("prints without end", `tool, ${where}`, "tool-crash", apart("print", where)),
  ]),
  fault("returns a promise that never resolves", "tool, process", "tool-timeout", apart("hang", "process")),
  fault("throws", "tool, process", "tool-crash", apart("throw", "process")),
  fault("returns 8 MB", "tool, process", "tool-crash", apart("return", "process")),
];

const memoryFaults: readonly Fault[] = [
  fault("fills its memory", "tool, process", "tool-crash", apart("fill", "process"), {
    options: { limits: { toolMs: 5_000 } },
  }),
  fault("loses 4 MB at each of 40 calls", "tool, process", "completed", apart("leak", "process", "stop", 64), {
    says: [...Array(40).fill("try_it"), "=done"],
    options: { limits: { toolMs: 5_000 } },
  }),
  fault(
    "loops without end, and that is the policy's doing",
    "tool, process",
    "completed",
    apart("spin", "process", "observe"),
  ),
];

const crash = () => {
  throw new Error("the world is broken");
};

const environmentFaults: readonly Fault[] = [
  ...(["start", "score", "close"] as const).flatMap((name) => [
    fault(`\`${name}\` throws`, "environment", "env-crash", { [name]: crash }),
    fault(`\`${name}\` never answers`, "environment", "env-timeout", { [name]: never }),
  ]),
  fault("`act` throws", "environment", "env-crash", { act: crash }),
  fault("`act` never answers", "environment", "env-timeout", { act: never }),
  fault("the score is not a number", "environment", "env-crash", { score: () => Number.NaN }),
  fault(
    "a call that cannot be read ends the episode",
    "environment",
    "parse-error",
    { malformed: "stop" },
    {
      says: ["try_it {"],
    },
  ),
];

const engineFaults: readonly Fault[] = [
  fault("throws", "engine", "engine-error", {}, { says: crash }),
  fault("never answers, until it is cancelled", "engine", "cancelled", {}, { says: never, cancelAfterMs: 100 }),
  fault(
    "never answers, until time is up",
    "engine",
    "episode-timeout",
    {},
    {
      says: never,
      options: { limits: { episodeMs: 150 } },
    },
  ),
];

const cancelledFault = inTool("is running when the rollout is cancelled", "cancelled", never, { cancelAfterMs: 50 });
const slowFault = inTool(
  "returns in time, again and again, until time is up",
  "episode-timeout",
  () => sleep(20, "more"),
  {
    says: ["try_it"],
    options: { limits: { episodeMs: 150 } },
  },
);

export const faults: readonly Fault[] = [
  ...[...toolFaults, cancelledFault, slowFault, ...killedFaults, ...memoryFaults],
  ...[...environmentFaults, ...engineFaults],
];
