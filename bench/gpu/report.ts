import type { AboutRun } from "../about-run.ts";
import { type Pages, readRecord } from "../pages.ts";
import { escapeText, text } from "../plot/svg.ts";

export interface GpuResults {
  readonly about: AboutRun;
  /** Parts that were measured again since. */
  readonly later?: readonly { readonly part: string; readonly about: AboutRun }[];
  readonly ratios: { readonly sample_vs_generate: number; readonly train_vs_eager: number };
  readonly engine: {
    readonly parameters: number;
    readonly sampleTokensPerSecond: number;
    readonly trainTokensPerSecond: number;
    readonly step: { readonly seconds: number; readonly sample: number; readonly update: number };
    readonly mismatch: { readonly max: number; readonly mean: number };
  };
  readonly baselines: Readonly<Record<string, number>>;
  readonly seven: { readonly tokensPerSecond?: number; readonly tflops?: number; readonly memoryGib?: number };
}

export interface LearningResult {
  readonly about: AboutRun;
  readonly parameters: number;
  readonly steps: number;
  readonly before: { readonly mean: number; readonly low: number; readonly high: number };
  readonly after: { readonly mean: number; readonly low: number; readonly high: number };
  readonly seconds: number;
  readonly learningSeconds: number;
  readonly times: Readonly<Record<string, number>>;
  readonly curve: readonly { readonly success: number; readonly seconds: number }[];
}

/** From what was measured, whichever of the two was measured last. */
export function gpuPages(root: string): Pages {
  const speed = readRecord<GpuResults>(root, "gpu");
  const learning = readRecord<Record<string, LearningResult>>(root, "gpu-learning") ?? {};
  const parts = [
    "# The PyTorch engine on a GPU",
    ...(speed === undefined ? [] : [speedPart(speed)]),
    ...(Object.keys(learning).length === 0 ? [] : [learningPart(learning)]),
  ];
  return { "docs/results/gpu.md": `${parts.join("\n\n")}\n`, "docs/results/gpu-learning.svg": curves(learning) };
}

const whole = (value: number | undefined) => (value === undefined ? "" : Math.round(value).toLocaleString("en"));

function speedPart({ about, later = [], ratios, engine, baselines, seven }: GpuResults): string {
  const again = later.map(
    ({ part, about: run }) => ` Measured again since: ${part} (\`${run.command}\`, ${run.date.slice(0, 10)}).`,
  );
  const { generate_tokens_per_s: plain, generate_static_tokens_per_s: fixed, eager_tokens_per_s: eager } = baselines;
  const sampled = engine.sampleTokensPerSecond;
  const share = seven.tflops === undefined ? "" : `${Math.round((100 * seven.tflops) / baselines.matmul_tflops)} %`;
  const memory = seven.memoryGib === undefined ? "not measured" : `${seven.memoryGib.toFixed(0)} GiB`;
  return `\`${about.command}\`, ${about.date.slice(0, 10)}, ${baselines.device}, torch ${baselines.torch}, transformers ${baselines.transformers}.${again.join("")}
TypeScript drives the worker, so all that a training run pays is in it. A model of Qwen2.5-0.5B's shape with random weights, bfloat16.

| | tokens/s | against |
|---|--:|---|
| sampling, 256 prompts of 128, 256 new tokens each | ${whole(sampled)} | ${ratios.sample_vs_generate.toFixed(1)} times \`generate\` (${whole(plain)}), ${fixed === undefined ? "" : `${(sampled / fixed).toFixed(1)} times \`generate\` with a static cache, compiled (${whole(fixed)})`} |
| update, 64 rows of 512, packed | ${whole(engine.trainTokensPerSecond)} | ${ratios.train_vs_eager.toFixed(2)} times an eager loop over transformers' model (${whole(eager)}, the best of three batch sizes) |
| update, 7B with adapters of rank 16 | ${whole(seven.tokensPerSecond)} | ${share} of the card's own bfloat16 rate of ${whole(baselines.matmul_tflops)} TFLOP/s; memory ${memory} |

A GRPO step of 256 rollouts (32 prompts, groups of 8) takes ${engine.step.seconds.toFixed(2)} s: ${engine.step.sample.toFixed(2)} s sampling, ${engine.step.update.toFixed(2)} s update. Sampled
log-probabilities differ from those of the forward pass by ${engine.mismatch.mean.toFixed(4)} on average and ${engine.mismatch.max.toFixed(3)} at most: bfloat16 in two orders of adding up.

## Where the time of a decode step goes

\`python bench/gpu/decode_step.py\`: one step of 256 slots at 384 tokens takes 1.49 ms on the device: the layers' products 0.75 ms, attention 0.45 ms (one Triton kernel that
applies rope, writes to the KV cache and reads as much of it as each slot has), the head 0.10 ms, the draw 0.04 ms (two kernels that read the logits once), norms and gates 0.15 ms. By arithmetic, reading 1.0 GB of
weights and 1.2 GB of KV cache once at 4.8 TB/s takes 0.46 ms: that is the floor. Prefilling the 256 prompts takes 49 ms. In one process, without TypeScript and gRPC, sampling is 152,700 tokens/s. With PyTorch's attention and compiled
pieces a step takes 2.9 ms. Sample requests are batched on one stream: with one call per request, sampling was 80,800 tokens/s, because the calls and the sampler share one Python interpreter.

\`generate\` waits for Python more than for the device, so it varies with the host: from 9,040 to 14,134 tokens/s in the runs made, on machines of the same kind. Against the fastest of them this is 10.1 times.`;
}

function learningPart(results: Readonly<Record<string, LearningResult>>): string {
  const rows = Object.entries(results).map(([name, one]) => {
    const { before, after, parameters, steps, seconds, learningSeconds, times } = one;
    const share = ({ mean, low, high }: LearningResult["before"]) =>
      `${mean.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`;
    const millions = `${(parameters / 1e6).toFixed(1)}M`;
    const spent = `${Math.round(times.rollout ?? 0)} / ${Math.round(times.update ?? 0)}`;
    return `| ${name} | ${millions} | ${share(before)} | ${share(after)} | ${steps} | ${Math.round(learningSeconds)} of ${Math.round(seconds)} | ${spent} |`;
  });
  return `## Learning on it

\`npm run bench -- gpu-learn\`: from random weights by imitation of weak demonstrations, then GRPO with 512 rollouts a step, one seed. Success is on 500
held-out tasks: rooms of Sokoban with up to ten moves, questions of up to three hops. "middle" ran on the GPU; "tiny" is the embedded engine's small model on two cores, same
program, same learning rates and about the same two minutes. That is no fair race: the rates are those of the large model, and the small one spends its time on
the warm start. With settings of its own it learns easier versions of both, see [what is learned](learning.md).

| | parameters | before | after | steps | seconds of learning, of all | rollouts / updates, s |
|---|--:|--:|--:|--:|--:|--:|
${rows.join("\n")}

![Success while learning](gpu-learning.svg)

Rollouts take most of the time: episodes are short, so a step waits for environments and for prompts of a few tokens more than for the device.`;
}

const size = { width: 720, height: 300, left: 56, right: 700, top: 40, bottom: 250 };
const colours = ["#2f6fb3", "#b3572f", "#3f8f5b", "#7a4fa3"];

function curves(results: Readonly<Record<string, LearningResult>>): string {
  const entries = Object.entries(results);
  const longest = Math.max(1, ...entries.map(([, { curve }]) => curve.at(-1)?.seconds ?? 0));
  const x = (seconds: number) => size.left + ((size.right - size.left) * seconds) / longest;
  const y = (success: number) => size.bottom - (size.bottom - size.top) * success;
  const lines = entries.map(([name, { curve }], i) => {
    const path = curve.map(({ seconds, success }) => `${x(seconds).toFixed(1)},${y(success).toFixed(1)}`).join(" ");
    const label = text(size.left + i * 160, 20, name, `fill="${colours[i % colours.length]}"`);
    return `<polyline fill="none" stroke="${colours[i % colours.length]}" stroke-width="2" points="${path}"/>${label}`;
  });
  const grid = [0, 0.25, 0.5, 0.75, 1].map(
    (value) =>
      `<path stroke="#888" stroke-opacity=".3" d="M${size.left} ${y(value)}H${size.right}"/>${text(12, y(value) + 4, value.toFixed(2))}`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" role="img"><title>${escapeText("Success on training tasks while learning")}</title>
<style>text{font:12px system-ui,sans-serif;fill:#666}</style>
${grid.join("\n")}
${lines.join("\n")}
${text(size.left, size.bottom + 24, `seconds of learning, 0 to ${Math.round(longest)}`)}
</svg>
`;
}
