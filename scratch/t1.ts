import { frozenLake } from "../src/env/environments/frozen-lake.ts";
import { train, fromScratch, grpo, imitate, cosine } from "../src/train/index.ts";
import { metric } from "../src/monitor/metric-names.ts";
const env = frozenLake({ isSlippery: false } as never);
console.log(env.limits, env.format.name);
const t0 = performance.now();
const r = await train({
  env, policy: fromScratch({ size: (process.argv[3] ?? "tiny") as never, tokenizer: "bytes" }), warmStart: imitate({ demonstrations: 500, noise: 0.4, steps: 150, batchSize: 64 }),
  algorithm: grpo({ groupSize: 8, learningRate: Number(process.argv[4] ?? 3e-4) }), steps: Number(process.argv[2] ?? 30), tasksPerStep: Number(process.argv[5] ?? 32), eval: { tasks: 200 },
  monitors: [{ name: "c", record(e) { if (e.type === "step-end" && (e.step % 25 === 0 || e.step % 20 === 0)) console.log(e.step, Object.fromEntries(["rollout/reward","rollout/success","rollout/turns","policy/entropy","update/loss","update/gradient-norm","group/deviation","time/rollout","time/update","rollout/sampled-tokens","rollout/tokens"].map(k => [k.split("/")[1], +(e.metrics[k] ?? NaN).toFixed(3)]))); else if (e.type !== "step-end") console.log(JSON.stringify(e), ((performance.now()-t0)/1000).toFixed(1)); } }],
});
const { rollouts, ...b } = r.before!; console.log(b);
console.log(r.after!.success, r.seconds);
for (const ro of r.after!.rollouts.slice(0, 3)) console.log(ro.stop, JSON.stringify(ro.trajectories[0]!.turns.map(t => [t.text, t.observation])));
await r.policy.engine.close();
