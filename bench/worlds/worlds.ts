import { parseArgs } from "node:util";
import { LudusError } from "../../src/errors.ts";
import { nearest } from "../../src/nearest.ts";
import { aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark } from "../benchmark.ts";
import { writePages } from "../pages.ts";
import { textTable } from "../table.ts";
import { learnsPages } from "./learns-report.ts";
import { type Method, methods, plans, specOf } from "./plans.ts";
import { parseEngine, parseJobs, playRuns, type WantedRun } from "./play-run.ts";
import { tableOf, worldsPages } from "./report.ts";
import { isSameSpec, keepRun, readRuns, rowOf, validationFile, type WorldRun, worldsFile } from "./results.ts";
import type { RunOutcome } from "./spec.ts";

const help = `Every shipped environment learned: a transformer from random weights imitates demonstrations with random turns, then learns from
its own attempts. Success on held-out tasks before and after. Each run that ends is kept in bench/results/worlds.json at once, and
docs/results/worlds.md is written from there; runs that are kept with the same settings are not made again.

Usage: npm run worlds -- [options]

  --only <names>     of these worlds: ${Object.keys(plans).join(", ")}
  --seeds <list>     0-4 by default; --seed 7 is the same as --seeds 7
  --methods <names>  of these: ${methods.join(", ")}; recommended by default, all for every one
  --engine <name>    embedded or cuda: only worlds whose runs are made there
  --jobs <n>         runs at once, 1 by default; the embedded engine uses two threads in each
  --validate         on other held-out tasks than the reported ones, to choose settings; kept in bench/results/validation.json
  --again            also runs that are kept already
  --page             nothing is run; the page is written from what is kept
  --json             one JSON object as the last line

Example:
  npm run worlds -- --only lock,key-door --seed 7
`;

export const worldsBenchmark: Benchmark = {
  name: "worlds",
  summary: "every shipped environment learned, over seeds",
  help,
  async run(args, context) {
    const options = parseOptions(args);
    const made = aboutRun("worlds", args, context.root);
    const { date, commit, processor, cores } = made;
    const about = { date, commit, processor, cores };
    const wanted = options.isPageOnly ? [] : missing(options, readRuns(context.root, worldsFile));
    if (wanted.length > 0) {
      const warning = busyWarning(made);
      if (warning !== undefined) context.progress(warning);
    }
    const keep = ({ method, spec }: WantedRun, outcome: RunOutcome) => {
      const isSame = (other: WorldRun) =>
        other.method === method && other.spec.world === spec.world && other.spec.seed === spec.seed;
      const run = { method, spec, outcome, about, jobs: options.jobs };
      if (options.isValidation) keepRun(context.root, validationFile, run, (other) => isSameSpec(other.spec, spec));
      else keepRun(context.root, worldsFile, run, isSame);
    };
    await playRuns(wanted, { jobs: options.jobs, keep }, context);
    if (options.isValidation) {
      writePages(context.root, learnsPages(context.root));
      return;
    }
    const runs = readRuns(context.root, worldsFile);
    writePages(context.root, worldsPages(context.root));
    console.log(options.json ? JSON.stringify({ worlds: summary(runs) }) : textTable(tableOf(runs)));
  },
};

/** The recommended method of each world that has runs. */
function summary(runs: readonly WorldRun[]) {
  const recommended = (world: string) =>
    rowOf(
      runs.filter(({ method, spec }) => method === "recommended" && spec.world === world),
      plans[world].measure,
    );
  return Object.fromEntries(
    Object.keys(plans).flatMap((world) => [[world, recommended(world)] as const].filter(([, row]) => row)),
  );
}

interface Options {
  readonly worlds: readonly string[];
  readonly methods: readonly Method[];
  readonly seeds: readonly number[];
  readonly jobs: number;
  readonly isValidation: boolean;
  readonly again: boolean;
  readonly isPageOnly: boolean;
  readonly json: boolean;
}

function missing({ worlds, methods: wanted, seeds, again, isValidation }: Options, kept: readonly WorldRun[]) {
  return seeds
    .flatMap((seed) =>
      worlds.flatMap((world) => wanted.map((method) => ({ method, spec: specOf(world, method, seed) }))),
    )
    .map(({ method, spec }) => ({
      method,
      label: `${spec.world}, ${method}, seed ${spec.seed}`,
      spec: isValidation ? { ...spec, isValidation } : spec,
    }))
    .filter(({ method, spec }) => again || !kept.some((run) => run.method === method && isSameSpec(run.spec, spec)));
}

function parseOptions(args: readonly string[]): Options {
  const refuse = (got: string, expected: string) =>
    new LudusError("bad-option", { got, expected, hint: "See npm run worlds -- --help." });
  const parsed = () =>
    parseArgs({
      args: [...args],
      options: {
        only: { type: "string" },
        seeds: { type: "string", default: "0-4" },
        seed: { type: "string" },
        methods: { type: "string", default: "recommended" },
        engine: { type: "string" },
        jobs: { type: "string", default: "1" },
        validate: { type: "boolean", default: false },
        again: { type: "boolean", default: false },
        page: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
      },
    }).values;
  let values: ReturnType<typeof parsed>;
  try {
    values = parsed();
  } catch {
    throw refuse(args.join(" "), "--only, --seeds, --methods, --engine, --jobs, --validate, --again, --page or --json");
  }
  const names = Object.keys(plans);
  const chosen = values.only?.split(",") ?? names;
  const unknown = chosen.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const meant = nearest(unknown, names);
    throw refuse(`--only ${unknown}`, `one of ${names.join(", ")}${meant === undefined ? "" : ` ("${meant}"?)`}`);
  }
  const wanted = values.methods === "all" ? methods : (values.methods.split(",") as Method[]);
  const other = wanted.find((name) => !methods.includes(name));
  if (other !== undefined) throw refuse(`--methods ${other}`, `all, or some of ${methods.join(", ")}`);
  const engine = parseEngine(values.engine, refuse);
  return {
    worlds: chosen.filter((name) => engine === undefined || plans[name].engine === engine),
    methods: wanted,
    seeds: seedList(values.seed ?? values.seeds, refuse),
    jobs: parseJobs(values.jobs, refuse),
    isValidation: values.validate,
    again: values.again,
    isPageOnly: values.page,
    json: values.json,
  };
}

/** `0-4`, `3,7`. */
function seedList(text: string, refuse: (got: string, expected: string) => LudusError): number[] {
  return text.split(",").flatMap((part) => {
    const match = /^(\d+)(?:-(\d+))?$/.exec(part);
    const [first, last] = [Number(match?.[1]), Number(match?.[2] ?? match?.[1])];
    if (match === null || last < first) throw refuse(`--seeds ${text}`, "numbers and ranges such as 0-4 or 3,7");
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}
