import type { Pages } from "../pages.ts";
import { arrows } from "../plot/arrows.ts";
import { markdownTable, type Table } from "../table.ts";
import { benchWorlds } from "./envs.ts";
import { type Method, methods, plans } from "./plans.ts";
import { type Row, readRuns, rowOf, type WorldRun, worldsFile } from "./results.ts";

function rowFor(runs: readonly WorldRun[], world: string, method: Method): Row | undefined {
  return rowOf(
    runs.filter((run) => run.method === method && run.spec.world === world),
    plans[world].measure,
  );
}

export function tableOf(runs: readonly WorldRun[]): Table {
  const rows = Object.keys(plans).flatMap((world) => {
    const row = rowFor(runs, world, "recommended");
    return row === undefined ? [] : [[world, row] as const];
  });
  const interval = ({ low, high, seeds }: Row) => (seeds < 2 ? "–" : `${low.toFixed(3)} to ${high.toFixed(3)}`);
  return [
    ["world", "before", "after", "95 %", "seeds", "rollouts", "seconds", "engine", "parameters", "method"],
    ...rows.map(([world, row]) => [
      plans[world].measure === "score" ? `${world} (score)` : world,
      row.before.toFixed(3),
      row.after.toFixed(3),
      interval(row),
      `${row.seeds}`,
      row.rollouts.toLocaleString("en-US"),
      `${row.seconds}`,
      row.engine,
      row.parameters.toLocaleString("en-US"),
      row.method,
    ]),
  ];
}

/** Success of each method after as many rollouts, and of imitation of the clean expert. */
function methodsTable(runs: readonly WorldRun[]): Table {
  const cell = (world: string, method: Method) => {
    const row = rowFor(runs, world, method);
    if (row === undefined) return "–";
    return row.seeds < 2
      ? row.after.toFixed(3)
      : `${row.after.toFixed(3)} (${row.low.toFixed(2)} to ${row.high.toFixed(2)})`;
  };
  const names = [
    "the table's",
    "recommended()",
    "grpo()",
    "ppo()",
    "rejectionTuning()",
    "imitation of the clean expert",
  ];
  const shown = Object.keys(plans).filter((world) => methods.some((method) => rowFor(runs, world, method)));
  return [["world", ...names], ...shown.map((world) => [world, ...methods.map((method) => cell(world, method))])];
}

/** Success of a warm start that leaves something to learn. */
const highestStart = 0.5;

function headline(runs: readonly WorldRun[]): string {
  const names = Object.keys(plans);
  const rows = names.map((world) => ({ world, goal: plans[world].goal, row: rowFor(runs, world, "recommended") }));
  const whole = rows.filter(({ row }) => (row?.seeds ?? 0) >= 5);
  const tooGood = whole.flatMap(({ world }) => {
    const success = rowOf(runs.filter((run) => run.method === "recommended" && run.spec.world === world))!.before;
    return success > highestStart ? [{ world, success }] : [];
  });
  const reached = whole.filter(
    ({ row, goal, world }) => row!.after >= goal && !tooGood.some((other) => other.world === world),
  );
  const short = whole
    .filter(({ row, goal }) => row!.after < goal)
    .map(({ world, goal }) => `${world} (wanted ${goal})`);
  const open = rows.filter(({ row }) => (row?.seeds ?? 0) < 5).map(({ world }) => world);
  return [
    `**${reached.length} of ${names.length} worlds reach what is wanted of them, over five seeds.**`,
    short.length === 0 ? "" : ` Not reached: ${short.join(", ")}.`,
    tooGood.length === 0
      ? ""
      : ` Not counted, because the warm start solves more than half: ${tooGood.map(({ world, success }) => `${world} (${success.toFixed(3)})`).join(", ")}.`,
    open.length === 0 ? "" : ` Not measured with five seeds yet: ${open.join(", ")}.`,
  ].join("");
}

function passHats(runs: readonly WorldRun[]): string {
  const lines = Object.keys(plans).flatMap((world) => {
    const { passAttempts } = plans[world];
    const passHat = rowFor(runs, world, "recommended")?.passHat;
    return passHat === undefined ? [] : [`pass^${passAttempts} of ${world}: ${passHat.toFixed(3)}.`];
  });
  return lines.length === 0 ? "" : `\n${lines.join(" ")}\n`;
}

function plotOf(runs: readonly WorldRun[]): string {
  const rows = Object.entries(plans).flatMap(([world, { goal }]) => {
    const row = rowFor(runs, world, "recommended");
    if (row === undefined) return [];
    const { before, after, low, high, seeds } = row;
    const others = methods.slice(1).flatMap((method) => rowFor(runs, world, method)?.after ?? []);
    return [{ name: world, from: before, to: after, ...(seeds < 2 ? {} : { low, high }), goal, others }];
  });
  return arrows({
    title: "Success on held-out tasks, before and after learning",
    description: "For each world the mean over seeds before and after, the 95 % interval after, and what is wanted.",
    rows,
  });
}

export function worldsPages(root: string): Pages {
  const runs = readRuns(root, worldsFile);
  const machines = new Set(
    runs.map(
      ({ about, spec }) =>
        `${spec.engine === "cuda" ? "one NVIDIA H200 beside " : ""}${about.processor}, ${about.cores} cores`,
    ),
  );
  const about = Object.entries(benchWorlds).map(([name, world]) => `- \`${name}\`: ${world.about}`);
  const page = `# Shipped environments, learned

${headline(runs)} \`browser\`, \`dataAnalyst\`, \`guardedDesk\`, \`nim\`, \`officeSkills\`, \`projectRules\`, \`repositories\` and \`storeRoom\` are not in the table: nothing has been trained on them for it yet.

Written by \`npm run worlds\`. A transformer with random weights imitates demonstrations in which some turns are random ("before"), then learns from its own
attempts ("after"). Success is on 500 held-out tasks at temperature 1: tasks of the \`test\` split, which training never sees. Seconds are of the whole run:
demonstrations, imitation, learning and evaluations. Settings of each world are in [plans.ts](../../bench/worlds/plans.ts); they were chosen with seed 100 on other held-out
tasks (\`--validate\`); a first trial of bandit, key-door, lock and search-qa with that seed was on the reported tasks.

${markdownTable(tableOf(runs))}
${passHats(runs)}
![Before and after, by world](worlds.svg)

## Beside other methods

After as many rollouts from the same warm start; presets with no options. The last column is imitation of demonstrations without random turns, for as many steps as the
warm start has: what the model can hold.

${markdownTable(methodsTable(runs))}

## The worlds

${about.join("\n")}

The arms of the bandit's \`test\` split have names that occur nowhere in training, so it is measured on the names it was trained with, in either order.

Made on: ${[...machines].join("; ") || "–"}. Every run with its settings is in [worlds.json](../../bench/results/worlds.json).
`;
  return { "docs/results/worlds.md": page, "docs/results/worlds.svg": plotOf(runs) };
}
