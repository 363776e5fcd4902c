import { z } from "zod";
import { parseBoundedJson } from "../../bounded-json.ts";
import { LudusError } from "../../errors.ts";
import type { ToolSpec } from "../../schema/message.ts";
import type {
  AttemptContext,
  Benchmark,
  BenchmarkMessage,
  BenchmarkScore,
  BenchmarkTask,
  Chat,
  ChatReply,
} from "./benchmark.ts";
import { askPython, openPython, type PythonAttempt } from "./benchmark-bridge.ts";
import { findFile } from "./read-records.ts";

/** As the benchmark's own Python describes its tools. */
export const Tool: z.ZodType<ToolSpec> = z.looseObject({
  name: z.string(),
  description: z.string(),
  parameters: z.custom<ToolSpec["parameters"]>((value) => typeof value === "object" && value !== null),
});
const Tasks = z.object({ tasks: z.array(z.object({ id: z.string(), text: z.string(), category: z.string() })) });
const Begun = z.object({ policy: z.string(), tools: z.array(Tool), user: z.string() });
const Stepped = z.object({ content: z.string(), done: z.boolean(), reward: z.number() });

/** As in the published runs. */
const mostSteps = 30;
const greeting = "Hi! How can I help you today?";

/**
 * τ-bench in a checkout of its repository: its own environment holds the database, runs the tools and gives the reward (equal databases, and
 * everything said that has to be). The model is asked with the policy as its system message, as the published agent that calls tools.
 */
export const tauBench: Benchmark = {
  name: "tau-bench",
  description: "τ-bench: a customer is served by calling tools under a policy; retail and airline",
  files: "a checkout of sierra-research/tau-bench: tau_bench/envs/<domain> with tools, data and tasks_test.py",
  hasUser: true,
  async load(folder) {
    await findFile(folder, ["tau_bench"]);
    return tasksOf("tau-bench", folder, attemptTau);
  },
};

/** Tasks of a folder, by the benchmark's own Python. */
export async function tasksOf(
  kind: string,
  folder: string,
  attempt: (python: PythonAttempt, chat: Chat, user: Chat) => Promise<BenchmarkScore>,
): Promise<readonly BenchmarkTask[]> {
  const { tasks } = Tasks.parse(await askPython(kind, folder));
  return tasks.map((task) => ({
    ...task,
    async attempt(chat, context) {
      const user = userOf(kind, context);
      await using python = await openPython(kind, folder, { task: task.id }, context.signal);
      return await attempt(python, chat, user);
    },
  }));
}

function userOf(kind: string, { user }: AttemptContext): Chat {
  if (user !== undefined) return user;
  throw new LudusError("no-user", {
    got: `${kind} without a user`,
    expected: "a model that plays the customer, or a file with what the customer says",
    hint: "runBenchmark(tasks, model, { user: modelUser({ endpoint, model }) })",
  });
}

async function attemptTau(python: PythonAttempt, chat: Chat, user: Chat): Promise<BenchmarkScore> {
  const { policy, tools, user: told } = Begun.parse(python.begun);
  const heard: BenchmarkMessage[] = [
    { role: "system", content: told },
    { role: "user", content: greeting },
  ];
  const reply = async () => {
    const { text } = await user({ messages: heard });
    heard.push({ role: "assistant", content: text });
    return text;
  };
  const messages: BenchmarkMessage[] = [
    { role: "system", content: policy },
    { role: "user", content: await reply() },
  ];
  for (let step = 0; step < mostSteps; step++) {
    const said = await chat({ messages, tools });
    // one at a time, as the published agent
    const [call] = said.calls;
    messages.push(assistantMessage(said, said.calls.slice(0, 1)));
    let stepped: z.infer<typeof Stepped>;
    if (call === undefined) {
      heard.push({ role: "user", content: said.text });
      stepped = Stepped.parse(await python.ask("say", { content: said.text, reply: await reply() }));
      messages.push({ role: "user", content: stepped.content });
    } else {
      if (!isArguments(call.arguments)) return { success: false };
      stepped = Stepped.parse(await python.ask("call", { name: call.name, arguments: call.arguments }));
      messages.push({ role: "tool", tool_call_id: call.id, name: call.name, content: stepped.content });
    }
    if (stepped.done) return { success: stepped.reward === 1 };
  }
  return { success: false };
}

export function assistantMessage({ text }: ChatReply, calls: ChatReply["calls"]): BenchmarkMessage {
  if (calls.length === 0) return { role: "assistant", content: text };
  const called = calls.map(({ id, name, arguments: given }) => {
    return { id, type: "function", function: { name, arguments: given } };
  });
  return { role: "assistant", content: text, tool_calls: called };
}

/** Python reads no integer of more digits, and an exception there would leave the attempt out of all figures. */
const longNumber = /\d{4301}/;

/** Whether arguments are an object of JSON that Python reads too. */
export function isArguments(text: string): boolean {
  try {
    const value = parseBoundedJson(text);
    if (longNumber.test(text)) return false;
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
