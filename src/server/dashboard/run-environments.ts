import { z } from "zod";
import type { Env } from "../../env/env.ts";
import { LudusError } from "../../errors.ts";
import type { EnvironmentsAnswer } from "./answers.ts";
import type { OpenRuns } from "./open-runs.ts";

export type LoadEnv = (file: string) => Promise<Env>;

const Stored = z.object({
  env: z.object({ name: z.string(), description: z.string().default("") }),
  source: z.string().optional(),
});

/** The environments that runs were made with, loaded again from the files that `ludus train` read. */
export class RunEnvironments {
  readonly #runs: OpenRuns;
  readonly #load: LoadEnv | undefined;

  constructor(runs: OpenRuns, load: LoadEnv | undefined) {
    this.#runs = runs;
    this.#load = load;
  }

  async describe(run: string): Promise<Pick<EnvironmentsAnswer, "own" | "runEnv" | "problem">> {
    const stored = await this.#stored(run);
    if (stored === undefined) return { problem: "The run does not say which environment it was made with." };
    if (stored.source !== undefined && this.#load !== undefined) {
      return { own: stored.env, runEnv: stored.env.name };
    }
    const problem = `The run does not say which file its environment ${stored.env.name} is in. To play it: ludus dashboard --env <file>`;
    return { runEnv: stored.env.name, problem };
  }

  async load(run: string): Promise<Env> {
    const stored = await this.#stored(run);
    if (stored?.source === undefined || this.#load === undefined) {
      throw new LudusError("no-such-environment", {
        got: `the run ${run}, which names no file`,
        expected: "a run that ludus train made from a file",
        hint: "Name the file: ludus dashboard --env <file>",
      });
    }
    const env = await this.#load(stored.source);
    if (env.name === stored.env.name) return env;
    throw new LudusError("other-environment", {
      got: `${stored.source}, which has the environment ${env.name} now`,
      expected: `${stored.env.name}, in which ${run} was trained`,
    });
  }

  async #stored(run: string): Promise<z.infer<typeof Stored> | undefined> {
    const parsed = Stored.safeParse(await this.#runs.read(run, (reader) => reader.config()));
    return parsed.success ? parsed.data : undefined;
  }
}
