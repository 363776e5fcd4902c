import { randomBytes } from "node:crypto";
import { Hono } from "hono";
import { z } from "zod";
import { Checkpoints } from "../../checkpoint/checkpoints.ts";
import type { Env } from "../../env/env.ts";
import { LudusError } from "../../errors.ts";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { type RendererStyle, recordedStyle, rendererOf, rendererStyles } from "../renderer-style.ts";
import type { EnvironmentsAnswer } from "./answers.ts";
import type { CheckpointPolicies } from "./checkpoint-policies.ts";
import type { OpenRuns } from "./open-runs.ts";
import { type PlayContext, PlaySession } from "./play-session.ts";
import { pathText, readBody, readQuery } from "./request.ts";
import type { RunEnvironments } from "./run-environments.ts";

const StartBody = z.object({
  env: z.string().default(""),
  /** The run in whose own environment to play, instead of a listed one. */
  envOf: z.string().optional(),
  split: z.string().default("train"),
  index: z.int().min(0).default(0),
  /** Whose newest checkpoint sits beside. */
  run: z.string().optional(),
  renderer: z.enum(rendererStyles).optional(),
});

const SayBody = z.object({ text: z.string().max(100_000).optional(), tokens: z.array(z.int().min(0)).optional() });

const SuggestBody = z.object({
  seed: z.int().default(0),
  temperature: z.number().min(0).max(10).default(1),
  given: z.array(z.int().min(0)).max(10_000).default([]),
  maxTokens: z.int().min(1).optional(),
});

const maxSessions = 32;

/** Environments by name, each made when it is asked for. */
export type Environments = Readonly<Record<string, { readonly description: string; make(): Env }>>;

/** Episodes that people play. */
export class PlayRoom {
  readonly routes: Hono;
  readonly #sessions = new Map<string, PlaySession>();
  readonly #environments: Environments;
  readonly #runs: OpenRuns;
  readonly #policies: CheckpointPolicies;
  readonly #own: RunEnvironments;

  constructor(environments: Environments, runs: OpenRuns, policies: CheckpointPolicies, own: RunEnvironments) {
    this.#environments = environments;
    this.#own = own;
    this.#runs = runs;
    this.#policies = policies;
    this.routes = this.#makeRoutes();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.close()));
    this.#sessions.clear();
  }

  #makeRoutes(): Hono {
    const routes = new Hono();
    routes.get("/environments", async (context) => {
      const { run } = readQuery(context, z.object({ run: z.string().optional() }));
      const listed = Object.entries(this.#environments);
      const environments = listed.map(([name, { description }]) => ({ name, description }));
      const own = run === undefined ? {} : await this.#own.describe(run);
      return context.json({ environments, ...own } satisfies EnvironmentsAnswer);
    });
    routes.post("/play", async (context) => {
      const id = await this.#start(await readBody(context, StartBody));
      return context.json(this.#session(id).view(id));
    });
    routes.get("/play/:session", (context) => {
      const id = pathText(context, "session");
      return context.json(this.#session(id).view(id));
    });
    routes.post("/play/:session/say", async (context) => {
      const [id, { text, tokens }] = [pathText(context, "session"), await readBody(context, SayBody)];
      const session = this.#session(id);
      await (tokens === undefined ? session.say(text ?? "") : session.sayTokens(tokens));
      return context.json(session.view(id));
    });
    routes.post("/play/:session/expert", (context) => {
      const text = this.#session(pathText(context, "session")).expertSays();
      return context.json({ text: text ?? null });
    });
    routes.post("/play/:session/suggest", async (context) => {
      const [session, options] = [this.#session(pathText(context, "session")), await readBody(context, SuggestBody)];
      const { run } = session.context;
      if (run === undefined) {
        throw new LudusError("no-such-checkpoint", { got: "an episode without a run", expected: "one with a run" });
      }
      const use = this.#policies.use(run.directory, run.step, (policy) => session.suggest(policy, options));
      return context.json(await use);
    });
    return routes;
  }

  #session(id: string): PlaySession {
    const session = this.#sessions.get(id);
    if (session !== undefined) return session;
    throw new LudusError("no-such-session", {
      got: `"${id}"`,
      expected: "an episode that is being played",
      hint: "Begin a new one: the server was started anew, or many others were begun since.",
    });
  }

  #env(name: string): Env {
    const known = Object.hasOwn(this.#environments, name) ? this.#environments[name] : undefined;
    if (known === undefined) {
      const expected = `one of ${Object.keys(this.#environments).join(", ")}`;
      throw new LudusError("no-such-environment", { got: `"${name}"`, expected });
    }
    return known.make();
  }

  async #start({ env: name, envOf, split, index, run, renderer }: z.infer<typeof StartBody>): Promise<string> {
    const env = envOf === undefined ? this.#env(name) : await this.#own.load(envOf);
    if (!env.tasks.splits.includes(split)) {
      throw new LudusError("bad-split", { got: `"${split}"`, expected: `one of ${env.tasks.splits.join(", ")}` });
    }
    const context = await this.#contextOf(run, renderer);
    const session = new PlaySession(env, await env.tasks.at(split, index), context);
    await session.start();
    const id = randomBytes(9).toString("base64url");
    this.#sessions.set(id, session);
    const [oldest] = this.#sessions;
    if (this.#sessions.size > maxSessions && oldest !== undefined) {
      this.#sessions.delete(oldest[0]);
      await oldest[1].close();
    }
    return id;
  }

  async #contextOf(runId: string | undefined, wanted: RendererStyle | undefined): Promise<PlayContext> {
    if (runId === undefined)
      return { tokenizer: byteTokenizer(), renderer: rendererOf(byteTokenizer(), wanted ?? "compact") };
    await this.#runs.find(runId);
    const directory = this.#runs.catalog.checkpointDirectory(runId);
    const step = new Checkpoints(directory).steps().at(-1);
    const tokenizer = await this.#policies.tokenizer(directory);
    if (tokenizer === undefined || step === undefined) {
      throw new LudusError("no-such-checkpoint", {
        got: `a run without checkpoints, ${runId}`,
        expected: "one that has saved its policy",
      });
    }
    const renderer = rendererOf(
      tokenizer,
      wanted ?? (await this.#runs.read(runId, (reader) => recordedStyle(reader, tokenizer))),
    );
    return { tokenizer, renderer, run: { directory, step } };
  }
}
