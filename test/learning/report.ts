import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus } from "node:os";
import { meanInterval } from "../../src/eval/index.ts";
import type { Experiment, Outcome } from "./experiment.ts";

const dataFile = "docs/results/learning.json";
const pageFile = "docs/results/learning.md";

interface Entry {
  readonly title: string;
  readonly question: string;
  readonly variants: Readonly<Record<string, readonly Outcome[]>>;
}

/** Keeps what was measured, and writes the page anew from everything that is kept. */
export function keep({ title, question }: Experiment, outcomes: ReadonlyMap<string, readonly Outcome[]>): void {
  mkdirSync("docs/results", { recursive: true });
  const kept: Entry[] = existsSync(dataFile) ? JSON.parse(readFileSync(dataFile, "utf8")) : [];
  const entry = { title, question, variants: Object.fromEntries(outcomes) };
  const entries = [...kept.filter((other) => other.title !== title), entry];
  writeFileSync(dataFile, `${JSON.stringify(entries, undefined, 1)}\n`);
  writeFileSync(pageFile, page(entries));
}

/** The page, from everything that is kept. */
export function page(entries: readonly Entry[]): string {
  return `# What is learned

Written by \`npm run test:slow -- learning\`: models of about 0.3M parameters from random weights, on ${cpus()[0]?.model ?? "a processor"}, ${availableParallelism()}
cores. Success is on held-out tasks; "before" is after the warm start, or without one. Means over seeds with 95 % intervals
(Student's t, so three seeds are wide), and each seed. Variants of one table begin with the same weights for each seed.

${entries.map(section).join("\n")}
${findings}`;
}

// what a reader should take away; to be looked at again whenever the tables change
const findings = `## What was found

- **Masks are a law.** With a loss on what tools answered, each of three seeds ends far below the same run with the mask (0.85 against 0.23), two of them
  below where they began.
- **So is a beginning.** Without a warm start no attempt is ever rewarded, and nothing is learned.
- **Group size is not.** At equal rollouts groups of 2, 4, 8 and 16 come to the same (0.82 to 0.85). That larger groups are better, as is often said,
  does not show; RAGEN's own table has 4 before 16.
- **PPO and GRPO** come to the same on questions at equal rollouts (0.81, 0.85); intervals are wide. On the bandit PPO found the better arm in one seed
  of three, REINFORCE++ and Dr.GRPO in all. GRPO's division by the deviation would favour the worse arm there: in a group the good arm pays all or nobody.
- **Held-out tasks matter.** On a small Countdown success on training tasks rose to 0.82 and held-out success did not move.
- **Learning rates of 5e-4 are too high** for most of these: success fell at first in Sokoban and Countdown. The presets' default is 2e-4.
- Function calling and Sokoban are learned slowly at this size; more steps would help before anything else.

The quickstart over seeds is on [its own page](quickstart.md).
`;

function section({ title, question, variants }: Entry): string {
  const rows = Object.entries(variants).map(([name, outcomes]) => row(name, outcomes));
  return `## ${title}

${question}

| | before | after | each seed, after | training, last steps | rollouts | seconds |
|---|--:|--:|---|--:|--:|--:|
${rows.join("\n")}
`;
}

function row(name: string, outcomes: readonly Outcome[]): string {
  const of = (field: keyof Outcome) => meanInterval(outcomes.map((outcome) => outcome[field]));
  const share = ({ mean, low, high }: ReturnType<typeof of>) =>
    `${mean.toFixed(2)} [${Math.max(0, low).toFixed(2)}, ${Math.min(1, high).toFixed(2)}]`;
  const each = outcomes.map(({ after }) => after.toFixed(2)).join(" ");
  return `| ${name} | ${share(of("before"))} | ${share(of("after"))} | ${each} | ${of("training").mean.toFixed(2)} | ${of("rollouts").mean.toFixed(0)} | ${of("seconds").mean.toFixed(0)} |`;
}

/** Mean of a field over seeds. */
export function meanOf(outcomes: readonly Outcome[], field: keyof Outcome): number {
  return outcomes.reduce((sum, outcome) => sum + outcome[field], 0) / outcomes.length;
}
