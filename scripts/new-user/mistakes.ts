import { project } from "./first-hour.ts";
import type { Part } from "./part.ts";

const tickets = `import { defineEnv, fromScratch, generated, grpo, type TrainConfig } from "ludus";

const isUp = false;

const env = defineEnv({
  name: "tickets",
  tasks: generated((rng) => ({ ticket: rng.integer(100) })),
  start({ task }) {
    if (!isUp) throw new Error("database is down");
    return { state: {}, say: \`Ticket \${task.ticket}\` };
  },
  score: ({ answer = "" }) => ({ outcome: answer.length % 2 }),
  limits: { turns: 1, turnTokens: 8 },
});

export const config: TrainConfig = { env, policy: fromScratch({ size: "tiny" }), algorithm: grpo(), steps: 2, eval: { tasks: 50 } };
`;

const isDown = /database is down/;

export const crash: Part = {
  name: "crash",
  title: "An environment that crashes",
  needs: [project],
  async run(user) {
    user.clears("my-agent/runs/tickets-1");
    user.writes("my-agent/tickets.ts", tickets);
    await user.does([
      {
        in: "my-agent",
        say: "npx ludus train tickets.ts",
        status: 1,
        expect: [isDown, /tickets\.ts:9:\d+/, /^ended: failed$/m, /^everything-crashed: .*ludus env check/m],
      },
      { in: "my-agent", say: "npx ludus runs", expect: [/^tickets-1 .* failed$/m] },
      {
        in: "my-agent",
        say: "npx ludus doctor runs/tickets-1",
        status: 1,
        lines: 10,
        top: true,
        expect: [/^ {2}everything-crashed/m, isDown, /Remedy: .*--run runs\/tickets-1 --resume/],
      },
      {
        in: "my-agent",
        say: "npx ludus env check ./tickets.ts",
        status: 1,
        lines: 8,
        expect: [/^error crash: /m, isDown],
      },
      { in: "my-agent", say: "sed -i 's/isUp = false/isUp = true/' tickets.ts" },
      {
        in: "my-agent",
        say: "npx ludus train tickets.ts --run runs/tickets-1 --resume",
        lines: 18,
        expect: [/^ended: finished$/m, /^finished after 2 steps/m],
      },
      { in: "my-agent", say: "npx ludus runs", expect: [/^tickets-1 .* finished$/m] },
    ]);
  },
};

export const misspelt: Part = {
  name: "misspelt",
  title: "A misspelt option",
  needs: [project],
  async run(user) {
    await user.does([
      { in: "my-agent", say: "sed 's/size:/sise:/' train.ts > misspelt.ts" },
      {
        in: "my-agent",
        say: "npx ludus train misspelt.ts",
        status: 1,
        oneLine: true,
        expect: [/^fromScratch: unknown option "sise"; did you mean "size"\? \(.*misspelt\.ts:\d+:\d+\)$/],
      },
      { in: "my-agent", say: "sed 's/eval:/evals:/' train.ts > misspelt.ts" },
      {
        in: "my-agent",
        say: "npx ludus train misspelt.ts",
        status: 1,
        oneLine: true,
        expect: [/^train: unknown option "evals"; did you mean "eval"\?/],
      },
      {
        in: "my-agent",
        say: "npx ludus train train.ts --set algorithm.groupSise=4",
        status: 2,
        oneLine: true,
        expect: [/Did you mean "algorithm\.groupSize"\?/],
      },
      { in: "my-agent", say: "npx ludus trian train.ts", status: 2, expect: [/Did you mean "ludus train"\?/] },
    ]);
    user.clears("my-agent/misspelt.ts");
  },
};
