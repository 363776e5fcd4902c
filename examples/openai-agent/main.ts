/**
 * An agent that exists already is trained as it is: agent.ts uses OpenAI's SDK and nothing of Ludus. `agentEnv` answers its
 * calls from a small transformer made from nothing, in this process, and keeps every token; the score of each attempt is all
 * that is added. What is measured is success in offices it has never been in.
 *
 *     npx node examples/openai-agent/main.ts        # two to three minutes on two cores; exits with 1 if it does not learn
 */
import {
  consoleMonitor,
  cosine,
  formats,
  fromScratch,
  generated,
  grpo,
  imitate,
  type Rng,
  train,
} from "../../src/index.ts";
import { agentEnv } from "../../src/server/index.ts";
import { agent, type Office } from "./agent.ts";

const names = ["Ann", "Bob", "Cy", "Dee", "Eve", "Flo", "Gus", "Hal"];
const rooms = ["1", "2", "3", "4", "5", "6", "7", "8"];

interface Errand {
  readonly office: Office;
  readonly who: string;
  readonly ofBoss: boolean;
}

function makeErrand(rng: Rng): Errand {
  const draw = (from: readonly string[]) => from[rng.integer(from.length)];
  const boss = Object.fromEntries(names.map((name) => [name, draw(names.filter((other) => other !== name))]));
  const room = Object.fromEntries(names.map((name) => [name, draw(rooms)]));
  return { office: { boss, room }, who: draw(names), ofBoss: rng.integer(3) > 0 };
}

const question = ({ who, ofBoss }: Errand) => `Room of ${who}${ofBoss ? "'s boss" : ""}?`;
const answer = ({ office, who, ofBoss }: Errand) => office.room[ofBoss ? office.boss[who] : who];

const env = agentEnv({
  name: "office",
  tasks: generated(makeErrand),
  model: "clerk",
  format: formats.compact(),
  limits: { turns: 4, turnTokens: 16 },
  run: async (errand, { url }) => ((await agent(question(errand), errand.office, url)) === answer(errand) ? 1 : 0),

  // only for the first steps: a clerk who knows the way, but says something at random in nearly half of all turns
  expert({ task: { office, who, ofBoss }, messages }) {
    const told = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
    const whom = ofBoss ? office.boss[who] : who;
    if (ofBoss && !told.includes(whom)) return { calls: [{ name: "boss", arguments: { name: who } }] };
    if (!told.includes(office.room[whom])) return { calls: [{ name: "room", arguments: { name: whom } }] };
    return { answer: office.room[whom] };
  },
  actions({ task: { who }, messages }) {
    const told = messages.filter(({ role }) => role === "tool").map(({ content }) => content);
    const known = [...new Set([who, ...told])];
    const calls = ["boss", "room"].flatMap((tool) =>
      known.filter((word) => names.includes(word)).map((name) => ({ calls: [{ name: tool, arguments: { name } }] })),
    );
    return [...calls, ...known.map((word) => ({ answer: word }))];
  },
});

const { before, after, seconds, policy } = await train({
  env,
  policy: fromScratch({ size: "tiny", tokenizer: "bytes" }),
  warmStart: imitate({ demonstrations: 2000, noise: 0.45, steps: 400, learningRate: cosine(3e-3, 0.1) }),
  algorithm: grpo({ groupSize: 8, learningRate: cosine(8e-4, 0.1) }),
  steps: 90,
  earlyStop: { success: 0.97, window: 3 },
  monitors: [consoleMonitor({ stream: process.stdout })],
});
await policy.engine.close();
console.log(`${before!.success.mean.toFixed(2)} → ${after!.success.mean.toFixed(2)} in ${seconds.toFixed(0)} s`);
if (after!.success.low < before!.success.high + 0.1) {
  console.error("openai-agent: expected success in new offices to rise by 0.1 or more");
  process.exit(1);
}
