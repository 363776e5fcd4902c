import { z } from "zod";
import type { Benchmark, BenchmarkMessage, BenchmarkScore, Chat, ChatReply } from "./benchmark.ts";
import type { PythonAttempt } from "./benchmark-bridge.ts";
import { findFile } from "./read-records.ts";
import { assistantMessage, isArguments, Tool, tasksOf } from "./tau.ts";

const Call = z.object({ id: z.string(), name: z.string(), arguments: z.string() });
const Earlier = z.object({
  role: z.enum(["assistant", "user", "tool"]),
  content: z.string(),
  calls: z.array(Call),
  id: z.string().optional(),
  requestor: z.enum(["assistant", "user"]).optional(),
});
const Begun = z.object({
  policy: z.string(),
  tools: z.array(Tool),
  user: z.string(),
  userTools: z.array(Tool),
  history: z.array(Earlier),
});
const Results = z.object({ results: z.array(z.object({ content: z.string(), error: z.boolean() })) });
const Score = z.object({ reward: z.number() });

/** As in the published runs. */
const [mostSteps, mostErrors] = [200, 10];
const greeting = "Hi! How can I help you today?";
const stops = ["###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###"];
const rule =
  "You are a customer service agent. In each turn, either write to the user or call a tool, never both. Follow this policy:";

/**
 * τ²-bench in a checkout of its repository: its own environments run the tools of agent and user, its own evaluators give the reward (databases,
 * assertions on the environment, what was communicated, actions). Tasks whose reward needs a model as a judge are left out.
 */
export const tau2Bench: Benchmark = {
  name: "tau2-bench",
  description: "τ²-bench: a customer who has tools too is served under a policy; airline, retail and telecom",
  files: "a checkout of sierra-research/tau2-bench: src/tau2, and data/tau2 with domains/ and user_simulator/",
  hasUser: true,
  async load(folder) {
    await findFile(folder, ["src"]);
    return tasksOf("tau2-bench", folder, attemptTau2);
  },
};

type Speaker = "assistant" | "user";

/** One of the two: what it was told, with its own messages in the role `assistant`. */
interface Side {
  readonly speaker: Speaker;
  readonly messages: BenchmarkMessage[];
  say(): Promise<ChatReply>;
}

async function attemptTau2(python: PythonAttempt, chat: Chat, user: Chat): Promise<BenchmarkScore> {
  const begun = Begun.parse(python.begun);
  const agentMessages = [{ role: "system", content: `${rule}\n\n${begun.policy}` }];
  const userMessages = [{ role: "system", content: begun.user }];
  const sides: Readonly<Record<Speaker, Side>> = {
    assistant: {
      speaker: "assistant",
      messages: agentMessages,
      say: () => chat({ messages: agentMessages, tools: begun.tools }),
    },
    user: {
      speaker: "user",
      messages: userMessages,
      say: () => user({ messages: userMessages, ...(begun.userTools.length === 0 ? {} : { tools: begun.userTools }) }),
    },
  };
  let next = await openConversation(python, sides, begun.history);
  let errors = 0;
  for (let step = 0; step < mostSteps; step++) {
    const side = sides[next];
    const reply = await side.say();
    if (!reply.calls.every((call) => isArguments(call.arguments))) return { success: false };
    const isOver =
      side.speaker === "user" && reply.calls.length === 0 && stops.some((stop) => reply.text.includes(stop));
    const results = await spoken(python, sides, side, reply);
    errors += results.filter(({ error }) => error).length;
    if (isOver) return scoreOf(python);
    if (errors >= mostErrors) return { success: false };
    if (reply.calls.length === 0) next = side.speaker === "user" ? "assistant" : "user";
  }
  return { success: false };
}

/** What came before the task, else the agent's greeting. Returns who is next. */
async function openConversation(
  python: PythonAttempt,
  sides: Readonly<Record<Speaker, Side>>,
  history: z.infer<typeof Begun>["history"],
): Promise<Speaker> {
  for (const { role, content, calls, id = "", requestor = "assistant" } of history) {
    if (role === "tool") sides[requestor].messages.push({ role: "tool", tool_call_id: id, content });
    else tell(sides, sides[role], { text: content, calls });
  }
  const last = history.at(-1);
  if (last === undefined) {
    await spoken(python, sides, sides.assistant, { text: greeting, calls: [] });
    return "user";
  }
  if (last.role === "tool") return last.requestor ?? "assistant";
  return last.role === "assistant" ? "user" : "assistant";
}

/** A message of one side, in the environment and to both sides. What its calls gave is told to whoever made them. */
async function spoken(python: PythonAttempt, sides: Readonly<Record<Speaker, Side>>, side: Side, reply: ChatReply) {
  const message = { role: side.speaker, content: reply.text, calls: reply.calls };
  const { results } = Results.parse(await python.ask("say", message));
  tell(sides, side, reply);
  for (const [index, { content }] of results.entries())
    side.messages.push({ role: "tool", tool_call_id: reply.calls[index].id, content });
  return results;
}

function tell(sides: Readonly<Record<Speaker, Side>>, side: Side, reply: ChatReply): void {
  side.messages.push(assistantMessage(reply, reply.calls));
  const other = sides[side.speaker === "user" ? "assistant" : "user"];
  if (reply.calls.length === 0) other.messages.push({ role: "user", content: reply.text });
}

async function scoreOf(python: PythonAttempt): Promise<BenchmarkScore> {
  const { reward } = Score.parse(await python.ask("score"));
  return { success: Math.abs(reward - 1) < 1e-6 };
}
