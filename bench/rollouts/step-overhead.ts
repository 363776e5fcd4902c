import type { Engine, Sample } from "../../src/engine/engine.ts";
import { makeKnowledgeBase } from "../../src/env/environments/knowledge-base.ts";
import { searchQa } from "../../src/env/environments/search-qa.ts";
import { byteTokenizer } from "../../src/policy/byte-tokenizer.ts";
import { compactRenderer } from "../../src/policy/compact-renderer.ts";
import { compact } from "../../src/policy/formats/compact.ts";
import { joinTokens } from "../../src/policy/join-tokens.ts";
import { metric } from "../../src/schema/metric-names.ts";
import { grpo } from "../../src/train/presets/grpo.ts";
import { train } from "../../src/train/train-sync.ts";
import { median } from "../statistics.ts";
import { immediateEngine } from "./immediate-engine.ts";

const entities = 40;
const tasksPerStep = 64;
const groupSize = 8;
const warmUpSteps = 8;

/** Processor time of the main thread for a turn, in microseconds. */
export interface StepOverhead {
  /** Steps of GRPO on search-QA, 512 rollouts each, through `train()`; the engine costs nothing, and there is no store. */
  trained: number;
  /** The same turns by hand: nothing but rendering, parsing and the search itself. */
  byHand: number;
  /** What the framework adds, as a multiple of the work itself. */
  ratio: number;
  turns: number;
}

export async function measureStepOverhead(steps: number, signal: AbortSignal): Promise<StepOverhead> {
  const { engine, renderer, tokenizer, counted } = scriptedSearch();
  const trained: number[] = [];
  const byHand: number[] = [];
  let turns = 0;
  let since = process.threadCpuUsage();
  await train({
    env: searchQa({ entities }),
    policy: { engine, renderer, tokenizer },
    algorithm: grpo({ groupSize }),
    steps: warmUpSteps + steps,
    tasksPerStep,
    eval: { tasks: 0 },
    signal,
    monitors: [
      {
        name: "bench",
        record(event) {
          if (event.type !== "step-end" || event.metrics[metric.success] === undefined) return;
          const used = process.threadCpuUsage(since);
          const taken = counted();
          if (event.step >= warmUpSteps) {
            turns += taken;
            trained.push((used.user + used.system) / taken);
            byHand.push(playByHand(taken) / taken);
          } else playByHand(taken);
          since = process.threadCpuUsage();
        },
      },
    ],
  });
  return { trained: median(trained), byHand: median(byHand), ratio: median(trained) / median(byHand), turns };
}

/** Searches once or twice and answers; right or wrong is left to chance. */
function scriptedSearch() {
  const tokenizer = byteTokenizer();
  const renderer = compactRenderer({ tokenizer });
  const { facts } = makeKnowledgeBase({ seed: 0, entities, syllables: 1 });
  const taken = new Map<string, number>();
  let [next, turns, version, id] = [0, 0, 0, 0];
  const { engine } = immediateEngine(renderer, ({ rollout = "", seed }) => {
    turns++;
    const turn = taken.get(rollout) ?? 0;
    taken.set(rollout, turn + 1);
    const { subject, relation, object } = facts[next++ % facts.length];
    return turn < 1 + (seed % 2) ? `search ${subject} ${relation}` : `=${object}`;
  });
  const nothing = async () => {};
  const whole: Engine = {
    ...engine,
    get info() {
      return { ...engine.info, policyVersion: version };
    },
    // versions are those of the weights that the trainer believes in
    sample: async (request, stop) => atVersion(await engine.sample(request, stop), version),
    async release({ rollout = "" }) {
      taken.delete(rollout);
    },
    async forward({ rows }, { sampled } = {}) {
      const zeros = rows.map(({ tokens }) => new Float32Array(tokens.length));
      return {
        id: id++,
        policyVersion: version,
        logprobs_B_T: sampled?.logprobs_B_T ?? zeros,
        entropies_B_T: zeros,
      };
    },
    backward: nothing,
    async step() {
      version++;
      return { gradientNorm: 1, applied: true, clipped: false, policyVersion: version };
    },
    snapshot: nothing,
    save: nothing,
    load: nothing,
    close: nothing,
  };
  const counted = () => {
    const count = turns;
    turns = 0;
    return count;
  };
  return { engine: whole, renderer, tokenizer, counted };
}

const atVersion = (sample: Sample, version: number): Sample => ({
  ...sample,
  versions: sample.versions.fill(version),
});

/** Microseconds of so many turns of a search and an answer each, with no rollout around them. */
const playByHand = (() => {
  const renderer = compactRenderer({ tokenizer: byteTokenizer() });
  const base = makeKnowledgeBase({ seed: 0, entities, syllables: 1 });
  const format = compact();
  const tools = [
    {
      name: "search",
      description: "",
      parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
    },
  ];
  let next = 0;
  return (turns: number): number => {
    const before = process.threadCpuUsage();
    for (let turn = 0; turn < turns; turn += 2) {
      const { subject, relation, object } = base.facts[next++ % base.facts.length];
      const said = renderer.say(`search ${subject} ${relation}`);
      const prompt = renderer.start([{ role: "user", content: `${subject} ${relation}?` }], []);
      const [call] = format.parse(renderer.read(said), tools).calls;
      const query = call.kind === "call" ? String(call.arguments.query) : "";
      const { subject: a, relation: b, object: c } = base.facts[base.find(query, 1)[0].index];
      const told = renderer.next([{ role: "tool", name: "search", content: `${a} ${b} ${c}` }], { ended: true });
      const whole = joinTokens(prompt, said, told);
      format.parse(renderer.read(renderer.say(`=${object}`)), tools);
      if (whole.length === 0) throw new Error("nothing was said");
    }
    const { user, system } = process.threadCpuUsage(before);
    return user + system;
  };
})();
