import type { EvalReport, Rollout, Trajectory } from "ludus";
import type { LearningPolicy } from "ludus/train";
import { inputs, outcomeOf, type ProgramTask, runProgram } from "../programs.ts";
import { type Critic, outcomeAlone } from "./critic.ts";

/** Tests that are told with a question; the others decide. */
export const examples = 2;
const right = 3;

interface Candidate {
  readonly tokens_T: Int32Array;
  readonly mask_T: Uint8Array;
  readonly program: string;
}

interface Tools {
  readonly policy: LearningPolicy;
  readonly critic: Critic;
  readonly signal: AbortSignal;
}

/** Whether it gives what it should for the inputs that are told. */
async function passesExamples(program: string, task: ProgramTask, signal: AbortSignal): Promise<boolean> {
  const result = await runProgram(program, task, signal);
  if (result.kind !== "value" || !Array.isArray(result.value)) return false;
  const { value } = result;
  return inputs.slice(0, examples).every((_, i) => value[i] === task.outputs[i]);
}

async function isRightAtLast(
  candidate: Candidate | undefined,
  task: ProgramTask,
  signal: AbortSignal,
): Promise<boolean> {
  if (candidate === undefined) return false;
  return outcomeOf(await runProgram(candidate.program, task, signal), task) === right;
}

const candidateOf = ({ tokens_T, mask_T, turns }: Trajectory): Candidate => ({
  ...{ tokens_T, mask_T },
  program: turns[0]?.text ?? "",
});

function candidatesByTask({ rollouts }: EvalReport): { task: ProgramTask; all: Candidate[] }[] {
  return [...Map.groupBy(rollouts, ({ task }) => task.id).values()].map((attempts: Rollout[]) => ({
    task: attempts[0]!.task.data as ProgramTask,
    all: attempts.flatMap(({ trajectories }) => trajectories.slice(0, 1).map(candidateOf)),
  }));
}

/** Of all samples the first that passes the examples is handed in, else the first. */
export async function plainSampling(report: EvalReport, signal: AbortSignal): Promise<number> {
  const handedIn = candidatesByTask(report).map(async ({ task, all }) => {
    const passing = await Promise.all(all.map(({ program }) => passesExamples(program, task, signal)));
    return isRightAtLast(all[Math.max(0, passing.indexOf(true))], task, signal);
  });
  const found = await Promise.all(handedIn);
  return found.filter(Boolean).length / Math.max(1, found.length);
}

/**
 * Critic sampling with as many programs: the first half as they are, the second half regenerated from the critic's prefix of each of the first (of
 * one that passes the examples up to where the critic thinks best of it, of another up to where its word falls most). What passes the examples
 * and the critic likes best is handed in.
 */
export async function criticSampling(report: EvalReport, tools: Tools): Promise<number> {
  const { signal } = tools;
  const tasks = candidatesByTask(report);
  let solved = 0;
  for (const [index, { task, all }] of tasks.entries()) {
    const first = all.slice(0, Math.ceil(all.length / 2));
    const passing = await Promise.all(first.map(({ program }) => passesExamples(program, task, signal)));
    const words_T = await wordsOf(first, tools.critic);
    const seeds = first.map((each, i) => each.tokens_T.slice(0, cutOf(each, words_T[i]!, passing[i]!)));
    const again = await Promise.all(
      seeds.slice(0, all.length - first.length).map((seed, i) => regenerate(seed, first[i]!, tools, index * 100 + i)),
    );
    solved += (await isRightAtLast(await chosenOf([...first, ...again], task, tools), task, signal)) ? 1 : 0;
  }
  return solved / Math.max(1, tasks.length);
}

/** How probable success is after each token. */
async function wordsOf(candidates: readonly Candidate[], critic: Critic): Promise<Float32Array[]> {
  return (await critic.probabilities(candidates)).map((shares) => outcomeAlone(shares, right));
}

/** How many tokens are kept. */
export function cutOf({ mask_T }: Pick<Candidate, "mask_T">, word_T: Float32Array, isPassing: boolean): number {
  const sampled = [...mask_T.keys()].filter((t) => mask_T[t] === 1);
  let best = { t: sampled[0] ?? mask_T.length, value: Number.NEGATIVE_INFINITY };
  for (const [i, t] of sampled.entries()) {
    const value = isPassing ? word_T[t]! : i === 0 ? 0 : word_T[t - 1]! - word_T[t]!;
    if (value > best.value) best = { t, value };
  }
  // the last token ends the program: something is to be left to say
  return Math.min(best.t + (isPassing ? 1 : 0), sampled.at(-1) ?? mask_T.length);
}

async function regenerate(
  seed: Int32Array,
  from: Candidate,
  { policy, signal }: Tools,
  number: number,
): Promise<Candidate> {
  const { engine, renderer } = policy;
  const start = from.mask_T.indexOf(1);
  const request = { tokens: seed, maxTokens: 48, seed: number, stopTokens: renderer.stopTokens };
  const { tokens } = await engine.sample(request, signal);
  const tokens_T = Int32Array.of(...seed, ...tokens);
  return {
    tokens_T,
    mask_T: Uint8Array.from(tokens_T, (_, t) => (t < start ? 0 : 1)),
    program: renderer.read(tokens_T.slice(start)),
  };
}

async function chosenOf(
  all: readonly Candidate[],
  task: ProgramTask,
  { critic, signal }: Tools,
): Promise<Candidate | undefined> {
  const passing = await Promise.all(all.map(({ program }) => passesExamples(program, task, signal)));
  const words_T = await wordsOf(all, critic);
  const ranked = all.map((candidate, i) => ({
    candidate,
    worth: (passing[i] ? 1 : 0) + words_T[i]![candidate.mask_T.lastIndexOf(1)]!,
  }));
  return ranked.toSorted((a, b) => b.worth - a.worth)[0]?.candidate;
}
