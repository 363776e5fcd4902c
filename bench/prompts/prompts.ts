import { embedded } from "../../src/engine/embedded/embedded.ts";
import type { Engine, TokenRow } from "../../src/engine/engine.ts";
import { small } from "../../src/engine/model/model-config.ts";
import { createRng } from "../../src/random.ts";
import { type AboutRun, aboutLine, aboutRun, busyWarning } from "../about-run.ts";
import type { Benchmark, BenchmarkContext } from "../benchmark.ts";
import { coresOfOthers, readProcessorTime } from "../child/processor-time.ts";
import { parseJsonOption } from "../json-option.ts";
import { type Pages, readRecord, writePages, writeRecord } from "../pages.ts";
import { median } from "../statistics.ts";
import { formatNumber, markdownTable, type Table, textTable } from "../table.ts";

const help = `What training saves by computing the shared prefix of a group once: the update of 8 groups of 8 rollouts, beside the same
rows with another first token each, which share no prefix. Takes about a minute.
Writes bench/results/prompts.json and docs/results/prompts.md.

Usage: npm run bench -- prompts [options]

  --json  print the ratios as one JSON object instead of the table

Example:
  npm run bench -- prompts --json
`;

const vocabularySize = 256;
const [groups, groupSize] = [8, 8];
const [warmUpRounds, rounds] = [2, 7];
const shapes = [
  { prompt: 16, answer: 48 },
  { prompt: 32, answer: 128 },
  { prompt: 128, answer: 128 },
  { prompt: 256, answer: 64 },
  { prompt: 512, answer: 64 },
] as const;

interface Measured {
  prompt: number;
  answer: number;
  /** Seconds of an update, each round. */
  shared: number[];
  separate: number[];
}

interface Results {
  about: AboutRun;
  versions: Readonly<Record<string, string>>;
  coresOfOthers: number;
  measured: Measured[];
}

export const promptsBenchmark: Benchmark = {
  name: "prompts",
  summary: "an update with and without a shared prefix",
  help,
  async run(args, context) {
    const { json } = parseJsonOption("prompts", args);
    const results = await measureAll(args, context);
    writeRecord(context.root, "prompts", results);
    writePages(context.root, promptsPages(context.root));
    if (json)
      console.log(JSON.stringify(Object.fromEntries(results.measured.map((one) => [nameOf(one), ratioOf(one)]))));
    else console.log(`\n${textTable(tableOf(results))}\n\n${aboutResults(results)}`);
  },
};

async function measureAll(args: readonly string[], { root, signal, progress }: BenchmarkContext): Promise<Results> {
  const about = aboutRun("prompts", args, root);
  const warning = busyWarning(about);
  if (warning !== undefined) progress(warning);
  const engine = await embedded({ model: small({ vocabularySize, contextLength: 1024 }), seed: 1 });
  try {
    const [started, before] = [performance.now(), readProcessorTime(process.pid)];
    const measured: Measured[] = [];
    for (const shape of shapes) {
      const one = await measure(engine, shape, signal);
      measured.push(one);
      progress(`${nameOf(one)}: ${ratioOf(one).toFixed(2)} times`);
    }
    const [seconds, after] = [(performance.now() - started) / 1000, readProcessorTime(process.pid)];
    const versions = { node: process.versions.node };
    return { about, versions, coresOfOthers: before && after ? coresOfOthers(before, after, seconds) : 0, measured };
  } finally {
    await engine.close();
  }
}

async function measure(
  engine: Engine,
  shape: { prompt: number; answer: number },
  signal: AbortSignal,
): Promise<Measured> {
  const alike = makeRows(shape);
  // another first token each, so no prefix is shared
  const different = alike.map((row, b) => ({ ...row, tokens: [b, ...row.tokens.slice(1)] }));
  const times: { shared: number[]; separate: number[] } = { shared: [], separate: [] };
  for (let round = 0; round < warmUpRounds + rounds; round++) {
    signal.throwIfAborted();
    const [shared, separate] = [await update(engine, alike), await update(engine, different)];
    if (round < warmUpRounds) continue;
    times.shared.push(shared);
    times.separate.push(separate);
  }
  return { ...shape, ...times };
}

function makeRows({ prompt, answer }: { prompt: number; answer: number }): (TokenRow & { tokens: number[] })[] {
  const rng = createRng(1);
  const draw = (count: number) => Array.from({ length: count }, () => rng.integer(vocabularySize));
  return Array.from({ length: groups }, () => draw(prompt)).flatMap((asked) =>
    Array.from({ length: groupSize }, () => {
      const tokens = [...asked, ...draw(answer)];
      return { tokens, mask: tokens.map((_, t) => (t < prompt ? 0 : 1)) };
    }),
  );
}

/** Seconds of what an update costs but for the optimizer. */
async function update(engine: Engine, rows: readonly TokenRow[]): Promise<number> {
  const zeros_B_T = rows.map(({ tokens }) => new Float32Array(tokens.length));
  const logprobs_B_T = rows.map(({ mask }) => Float32Array.from(mask!, (isSampled) => (isSampled ? -1e-4 : 0)));
  const sampled = { logprobs_B_T: zeros_B_T, policyVersion: engine.info.policyVersion };
  const started = performance.now();
  await engine.backward(await engine.forward({ rows }, { sampled }), { logprobs_B_T });
  return (performance.now() - started) / 1000;
}

const nameOf = ({ prompt, answer }: Measured) => `${prompt}+${answer}`;
const ratioOf = ({ shared, separate }: Measured) => Number((median(separate) / median(shared)).toFixed(3));

function tableOf({ measured }: Results): Table {
  const rows = measured.map((one) => [
    `${one.prompt}`,
    `${one.answer}`,
    ...[one.shared, one.separate].map((seconds) => formatNumber(1000 * median(seconds))),
    ratioOf(one).toFixed(2),
  ]);
  return [["prompt", "completion", "shared, ms", "separate, ms", "times faster"], ...rows];
}

function aboutResults({ about, versions, coresOfOthers }: Results): string {
  return aboutLine(about, versions, coresOfOthers);
}

export function promptsPages(root: string): Pages {
  const results = readRecord<Results>(root, "prompts");
  if (results === undefined) return {};
  const page = `# Shared prefixes in training

Written by \`npm run bench -- prompts\`. An update (without the optimizer) of ${groups} groups of ${groupSize} rollouts on the embedded engine, a model of 1M parameters,
beside the same rows with another first token each, so that no prefix is shared. Medians of ${rounds} rounds, interleaved.

${markdownTable(tableOf(results))}

${aboutResults(results)}
`;
  return { "docs/results/prompts.md": page };
}
