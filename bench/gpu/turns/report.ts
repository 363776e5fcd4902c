import type { AboutRun } from "../../about-run.ts";
import { type Pages, readRecord } from "../../pages.ts";
import { median } from "../../statistics.ts";

export interface CellResult {
  readonly model: string;
  readonly rollouts: number;
  readonly kind: string;
  readonly fresh: readonly [number, number];
  readonly observation: readonly [number, number];
  /** Of each round. */
  readonly seconds: readonly number[];
  readonly tokensPerSecond: number;
  readonly singleTokensPerSecond: number;
  readonly gpuBusy: number | undefined;
  readonly generate?: number;
  readonly recompute?: number;
}

export interface TurnsResults {
  readonly about: AboutRun;
  /** What a reader must know of this run before its figures. */
  readonly note?: string;
  readonly device: string;
  readonly torch?: string;
  readonly transformers?: string;
  readonly cells: readonly CellResult[];
  /** Seconds of the rollouts of each step of a training run. */
  readonly rolloutSeconds: readonly number[];
}

const share = ({ tokensPerSecond, singleTokensPerSecond }: CellResult) => tokensPerSecond / singleTokensPerSecond;
/** Against the faster of the two ways to drive transformers. */
const versusGenerate = ({ tokensPerSecond, generate = 0, recompute = 0 }: CellResult) =>
  tokensPerSecond / Math.max(generate, recompute);
const middle = (values: readonly number[]) => (values.length === 0 ? null : median(values));

/** Medians over all cells; the seconds are the median of the steps after the first two. */
export function summary({ cells, rolloutSeconds }: TurnsResults) {
  const busy = cells.map(({ gpuBusy }) => gpuBusy).filter((value) => value !== undefined);
  return {
    turns_share_of_decode: middle(cells.map(share)),
    gpu_busy: middle(busy),
    turns_vs_generate: middle(cells.filter(({ generate }) => generate !== undefined).map(versusGenerate)),
    rollout_step_s_512x25M: middle(rolloutSeconds.slice(2)),
  };
}

const whole = (value: number | undefined) => (value === undefined ? "" : Math.round(value).toLocaleString("en"));
const range = ([low, high]: readonly [number, number]) => (low === high ? `${low}` : `${low} to ${high}`);

export function gpuTurnsPages(root: string): Pages {
  const results = readRecord<TurnsResults>(root, "gpu-turns");
  if (results === undefined) return {};
  const { about, note, device, torch, transformers, cells, rolloutSeconds } = results;
  const figures = summary(results);
  const rows = cells.map((cell) => {
    const { model, rollouts, kind, fresh, observation, seconds, gpuBusy, generate, recompute } = cell;
    const time = median(seconds);
    return [
      ...[model, whole(rollouts), `${kind}: ${range(fresh)} / ${range(observation)}`, time.toFixed(3)],
      ...[whole(rollouts / time), whole(cell.tokensPerSecond), share(cell).toFixed(2)],
      gpuBusy === undefined ? "" : `${Math.round(100 * gpuBusy)} %`,
      ...[whole(generate), whole(recompute), generate === undefined ? "" : versusGenerate(cell).toFixed(1)],
    ].join(" | ");
  });
  const number = (value: number | null, digits: number, unit = "") =>
    value === null ? "not measured" : `${value.toFixed(digits)}${unit}`;
  const page = `# Many short turns on a GPU

An agent's rollout is many short turns, not one long answer. \`${about.command}\`, ${about.date.slice(0, 10)}, ${device}, torch ${torch}, transformers ${transformers}; every
round is in [bench/results/gpu-turns.json](../../bench/results/gpu-turns.json).${note === undefined ? "" : `\n\n**${note}**`}

| | |
|---|--:|
| new tokens per second, as a share of as many in a single turn (median of all rows) | ${number(figures.turns_share_of_decode, 2)} |
| share of time in which the GPU computes (median) | ${number(figures.gpu_busy, 2)} |
| against \`generate\` turn by turn (median of the rows that have it) | ${number(figures.turns_vs_generate, 1, " times")} |
| rollouts of a training step: 512 of search-QA, 25M parameters, environment, renderer and all | ${number(figures.rollout_step_s_512x25M, 3, " s")} |

Every rollout has a prompt of 64 tokens and four turns. TypeScript drives the engine: each turn is one \`engine.sample\` with the whole history, whose KV cache is found by the rollout's name.
Weights are random, bfloat16. "25M" has 8 layers of width 512 and a vocabulary of 512; "0.5B" has the shape of Qwen2.5-0.5B.

| model | rollouts | turns: new / observed tokens | seconds | rollouts/s | new tokens/s | share of a single turn | GPU busy | generate, tokens/s | recompute, tokens/s | times the faster |
|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|
${rows.map((row) => `| ${row} |`).join("\n")}

- **share of a single turn**: the same prompts with as many new tokens, in one turn and without observations. The rest goes to what turns add: prefilling observations, longer histories to attend to, and the way to the
  environment and back.
- **GPU busy**: the share of time in which a kernel is running, as the driver reports it, over one and a half seconds and more.
- **generate** keeps its KV cache from turn to turn where all rows have equal lengths; where they vary it gets the whole history, padded. **recompute** gives it the whole history always. One round each after a short warm-up, and none with 2,048 rollouts.
${rolloutSeconds.length === 0 ? "" : `- The training run is that of \`npm run bench -- gpu-learn --only search-qa\`: ${rolloutSeconds.length} steps, rollouts of one step from ${Math.min(...rolloutSeconds).toFixed(3)} to ${Math.max(...rolloutSeconds).toFixed(3)} s, the first ones with CUDA graphs to record.\n`}`;
  return { "docs/results/gpu-turns.md": page };
}
