import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Score } from "../../schema/score.ts";
import type { Env, FinishedEpisode } from "../env.ts";

/** How much each objective counts, by name. Those left out count nothing. */
export type Preference = Readonly<Record<string, number>>;

/** A task's data with the preference that its episode is told of. */
export type Preferring<Data> = Data & { readonly preference: Preference };

export interface PreferencesOptions<Data, State> {
  /** What an episode is worth in each respect; more is better. */
  objectives: Readonly<Record<string, (episode: FinishedEpisode<Data, State>) => number | Promise<number>>>;
  /** Taken in turn, one a task: task 0 has the first. */
  preferences: readonly Preference[];
  /** The weighted sum, or, to reach fronts that bend inwards, minus the largest weighted distance from `ideal` (Chebyshev). */
  scalarise?: "sum" | "chebyshev";
  /** The best that can be hoped for in each objective; 1 by default. */
  ideal?: Preference;
  /** How a preference is told, before everything else; its numbers in the order of the objectives by default. */
  describe?: (preference: Preference) => string;
}

const knownPreferencesOptions: KnownOptions<PreferencesOptions<unknown, unknown>> = {
  objectives: true,
  preferences: true,
  scalarise: true,
  ideal: true,
  describe: true,
};

/**
 * The environment with several objectives and a preference among them, which is told and rewarded: one policy then learns a whole front. Evaluated under
 * each preference, `paretoFront` and `hypervolume` say how good that front is.
 */
export function withPreferences<Data extends object, State>(
  env: Env<Data, State>,
  options: PreferencesOptions<Data, State>,
): Env<Preferring<Data>, State> {
  refuseUnknownOptions("withPreferences", options, knownPreferencesOptions);
  const names = Object.keys(options.objectives);
  const { objectives, preferences, scalarise = "sum", ideal = {} } = options;
  checkPreferences(names, preferences);
  const describe =
    options.describe ?? ((preference: Preference) => names.map((name) => preference[name] ?? 0).join(" "));
  return {
    // what it does with its own data it does with more of it too
    ...(env as unknown as Env<Preferring<Data>, State>),
    tasks: {
      ...env.tasks,
      async at(split, index) {
        const task = await env.tasks.at(split, index);
        const n = index % preferences.length;
        return { ...task, id: `${task.id}+${n}`, data: { ...task.data, preference: preferences[n] } };
      },
    },
    async start(context) {
      const { state, say } = await env.start(context);
      return { state, say: `${describe(context.task.preference)}\n${say}` };
    },
    async score(episode): Promise<Score> {
      const { preference } = episode.task;
      const values: Record<string, number> = {};
      for (const name of names) values[name] = await objectives[name](episode);
      const success = await isSuccess(env, episode);
      return { ...scalarised(values, preference, scalarise, ideal), success };
    },
  };
}

async function isSuccess<Data, State>(env: Env<Data, State>, episode: FinishedEpisode<Data, State>): Promise<boolean> {
  const given = (await env.score?.(episode)) ?? 0;
  if (typeof given === "number") return given >= 1;
  return typeof given.success === "boolean" ? given.success : (given as Readonly<Record<string, number>>).outcome >= 1;
}

function scalarised(
  values: Readonly<Record<string, number>>,
  preference: Preference,
  scalarise: "sum" | "chebyshev",
  ideal: Preference,
): Pick<Score, "total" | "parts"> {
  const names = Object.keys(values);
  const weightOf = (name: string) => preference[name] ?? 0;
  switch (scalarise) {
    case "sum": {
      const parts = Object.fromEntries(names.map((name) => [name, weightOf(name) * values[name]]));
      return { parts, total: Object.values(parts).reduce((sum, part) => sum + part, 0) };
    }
    case "chebyshev": {
      const distance = (name: string) => weightOf(name) * ((ideal[name] ?? 1) - values[name]);
      const worst = names.reduce((a, b) => (distance(b) > distance(a) ? b : a));
      return { parts: { [worst]: -distance(worst) }, total: -distance(worst) };
    }
    default:
      return scalarise satisfies never;
  }
}

function checkPreferences(names: readonly string[], preferences: readonly Preference[]): void {
  const fail = (got: string, expected: string): never => {
    throw new LudusError("bad-preferences", { got, expected });
  };
  if (names.length < 2) fail(`${names.length} objectives`, "two at least");
  if (preferences.length === 0) fail("no preferences", "one at least");
  for (const preference of preferences) {
    const other = Object.keys(preference).find((name) => !names.includes(name));
    if (other !== undefined) fail(`a preference for "${other}"`, `one of the objectives ${names.join(", ")}`);
    const weights = Object.values(preference);
    const isSound = weights.every((weight) => weight >= 0 && Number.isFinite(weight)) && weights.some((w) => w > 0);
    if (!isSound) fail(`weights [${weights}]`, "numbers of at least 0, one of them above 0");
  }
}
