import { Hono } from "hono";
import { z } from "zod";
import { defined } from "../../defined.ts";
import { hintOf, infrastructureStops, policyStops, toLosslessJson } from "../../schema/index.ts";
import { type StoredTrajectory, type TrajectoryFilter, type TrajectorySummary, trainSplit } from "../../store/index.ts";
import type {
  GroupAnswer,
  LongText,
  LookAnswer,
  ShownSummary,
  ShownTurn,
  TokenColumns,
  TrajectoriesAnswer,
  TrajectoryAnswer,
} from "./answers.ts";
import type { CheckpointPolicies } from "./checkpoint-policies.ts";
import { finite } from "./finite.ts";
import type { OpenRuns } from "./open-runs.ts";
import { key, pathKey, pathText, readQuery, step } from "./request.ts";
import { tokenTexts } from "./token-texts.ts";
import { worstFirst } from "./worst-first.ts";

const flag = z.enum(["true", "false"]).transform((text) => text === "true");

const Filter = z.object({
  from: step.optional(),
  to: step.optional(),
  split: z.string().optional(),
  task: z.string().optional(),
  rollout: z.string().optional(),
  role: z.string().optional(),
  stop: z.enum([...policyStops, ...infrastructureStops]).optional(),
  success: flag.optional(),
  hint: flag.optional(),
  tool: z.string().optional(),
  min: z.coerce.number().optional(),
  max: z.coerce.number().optional(),
  text: z.string().max(500).optional(),
});

const Page = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  after: key.optional(),
  order: z.enum(["newest", "oldest", "worst"]).default("newest"),
});

const TokenQuery = z.object({
  first: z.coerce.number().int().min(0).default(0),
  tokens: z.coerce.number().int().min(0).max(50_000).default(6000),
  full: flag.default(false),
});

/** Lists, single trajectories with their tokens, groups. */
export function trajectoryRoutes(runs: OpenRuns, policies: CheckpointPolicies): Hono {
  const routes = new Hono();
  routes.get("/runs/:run/trajectories", async (context) => {
    const filter = filterOf(readQuery(context, Filter));
    const { after, limit, order } = readQuery(context, Page);
    const found = await runs.read(pathText(context, "run"), (reader) =>
      order === "worst"
        ? worstFirst(reader, filter, after ?? 0, limit)
        : reader.trajectories(filter, { limit, order, ...defined({ after }) }),
    );
    const next = found.next === undefined ? {} : { next: found.next };
    const answer: TrajectoriesAnswer = { trajectories: found.trajectories.map(shown), ...next };
    return context.json(answer);
  });
  routes.get("/runs/:run/count", async (context) => {
    const filter = filterOf(readQuery(context, Filter));
    const count = await runs.read(pathText(context, "run"), (reader) => reader.countTrajectories(filter));
    return context.json({ count });
  });
  routes.get("/runs/:run/trajectories/:key", async (context) => {
    const [run, query] = [pathText(context, "run"), readQuery(context, TokenQuery)];
    const stored = await runs.read(run, (reader) => reader.trajectory(pathKey(context, "key")));
    const tokenizer = await policies.tokenizer(runs.catalog.checkpointDirectory(run));
    const tokens = tokenColumns(stored, query.first, query.tokens);
    const texts = tokenizer === undefined ? {} : { texts: tokenTexts(tokenizer, tokens.ids) };
    return context.json(trajectoryAnswer(stored, { ...tokens, ...texts }, query.full));
  });
  routes.get("/runs/:run/groups/:key", async (context) => {
    const group = await runs.read(pathText(context, "run"), (reader) => reader.group(pathKey(context, "key")));
    const rewards = group.members.map(({ reward }) => reward).filter(Number.isFinite);
    const meanReward = finite(rewards.reduce((a, b) => a + b, 0) / rewards.length);
    const { step, split, members } = group;
    const answer: GroupAnswer = { step, split, meanReward, members: members.map(shown) };
    return context.json(answer);
  });
  routes.post("/runs/:run/trajectories/:key/look", async (context) => {
    const run = pathText(context, "run");
    const { trajectory } = await runs.read(run, (reader) => reader.trajectory(pathKey(context, "key")));
    const answer = await policies.use(runs.catalog.checkpointDirectory(run), undefined, async ({ engine, step }) => {
      const { tokens_T: tokens, mask_T: mask, temperature } = trajectory;
      const options = temperature > 0 ? { temperature } : {};
      const { logprobs_B_T, entropies_B_T } = await engine.forward({ rows: [{ tokens, mask }] }, options);
      return { checkpoint: step, logprobs: numbers(logprobs_B_T[0]), entropies: numbers(entropies_B_T[0]) };
    });
    return context.json(answer satisfies LookAnswer);
  });
  return routes;
}

function filterOf(query: z.infer<typeof Filter>): TrajectoryFilter {
  const { from, to, task, min, max, hint, split, ...rest } = query;
  const given = <Value>(name: string, value: Value | undefined) => (value === undefined ? {} : { [name]: value });
  const steps = { ...given("from", from), ...given("to", to) };
  const reward = { ...given("min", min), ...given("max", max) };
  return {
    ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined && value !== "")),
    ...given("taskId", task),
    ...splitOf(split, rest.rollout),
    ...defined({
      steps: Object.keys(steps).length === 0 ? undefined : steps,
      annotations: hint === undefined ? undefined : { hint },
      reward: Object.keys(reward).length === 0 ? undefined : reward,
    }),
  };
}

/** Training's, unless another one or `any` is asked for; a rollout is of one split alone. */
function splitOf(split: string | undefined, rollout: string | undefined): TrajectoryFilter {
  if (split === "any" || (rollout !== undefined && rollout !== "" && !split)) return {};
  return { split: split === undefined || split === "" ? trainSplit : split };
}

function shown(summary: TrajectorySummary): ShownSummary {
  return { ...summary, reward: finite(summary.reward) };
}

function trajectoryAnswer(stored: StoredTrajectory, tokens: TokenColumns, isFull: boolean): TrajectoryAnswer {
  const { summary, task, trajectory } = stored;
  const most = isFull ? Number.POSITIVE_INFINITY : shownCharacters;
  const { failure, score, weights, temperature } = trajectory;
  const hint = hintOf(trajectory);
  return {
    summary: shown(summary),
    score,
    weights,
    temperature,
    tokens,
    task: { id: task.id, seed: task.seed, data: longText(toLosslessJson(task.data), most) },
    ...defined({
      failure: failure === undefined ? undefined : longText(failure, most),
      hint: hint === undefined ? undefined : { kind: hint.kind, text: longText(hint.text, most) },
    }),
    turns: trajectory.turns.map(
      ({ span, text, reward, observation, calls, stateKey, info }): ShownTurn => ({
        start: span.start,
        end: span.end,
        reward: finite(reward),
        text: longText(text, most),
        observation: longText(observation, most),
        calls: calls.map((call) => ({
          name: call.name,
          outcome: call.outcome,
          arguments: longText(toLosslessJson(call.arguments), most),
          observation: longText(call.observation, most),
        })),
        ...defined({ stateKey, info }),
      }),
    ),
  };
}

function tokenColumns({ trajectory, advantages_T }: StoredTrajectory, from: number, count: number): TokenColumns {
  const { tokens_T, mask_T, logprobs_T, versions_T } = trajectory;
  const end = from + count;
  return {
    from,
    total: tokens_T.length,
    ids: Array.from(tokens_T.subarray(from, end)),
    mask: Array.from(mask_T.subarray(from, end)),
    logprobs: numbers(logprobs_T.subarray(from, end)),
    versions: Array.from(versions_T.subarray(from, end)),
    ...defined({ advantages: advantages_T === undefined ? undefined : numbers(advantages_T.subarray(from, end)) }),
  };
}

/** Five digits are more than a colour needs, and a third of the bytes. */
function numbers(values: Float32Array): (number | null)[] {
  return Array.from(values, (value) => finite(Number(value.toPrecision(5))));
}

const shownCharacters = 20_000;

/** Cuts between characters, not inside one. */
function longText(text: string, most: number): LongText {
  if (text.length <= most) return { text, length: text.length };
  const code = text.charCodeAt(most - 1);
  const isHalf = code >= 0xd800 && code <= 0xdbff;
  return { text: text.slice(0, isHalf ? most - 1 : most), length: text.length };
}
