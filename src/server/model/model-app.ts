import { createHash, timingSafeEqual } from "node:crypto";
import { Hono, type MiddlewareHandler } from "hono";
import { z } from "zod";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { infrastructureStops, makeScore, policyStops, type Trajectory, trajectoryToJson } from "../../schema/index.ts";
import { anthropicRoutes } from "./anthropic-routes.ts";
import { geminiRoutes } from "./gemini-routes.ts";
import { anthropicError, geminiError, type HttpError, httpError, openAiError } from "./http-error.ts";
import { type ModelHandler, readBody, rolloutName } from "./model-request.ts";
import { openAiRoutes } from "./openai-routes.ts";
import type { RecordedRollouts } from "./recorded-rollouts.ts";
import { responsesRoutes } from "./responses-routes.ts";

/** A model behind the protocols that agents speak; under `/rollouts/<id>` too, where calls are recorded. */
export function modelApp(handler: ModelHandler, apiKey: string | undefined): Hono {
  const app = new Hono();
  if (apiKey !== undefined) app.use(requireKey(apiKey));
  for (const base of handler.rollouts === undefined ? [""] : ["", "/rollouts/:rollout"]) {
    app.route(`${base}/v1`, openAiRoutes(handler));
    app.route(`${base}/v1`, responsesRoutes(handler));
    app.route(`${base}/v1`, anthropicRoutes(handler));
    // where Google's clients look by default, and where they do when told the other version
    for (const version of ["v1beta", "v1"]) app.route(`${base}/${version}`, geminiRoutes(handler));
  }
  if (handler.rollouts !== undefined) app.route("/rollouts", rolloutRoutes(handler.rollouts, handler));
  return tellErrors(app, handler.onError);
}

/** What goes wrong is told in the shape that the client knows. */
export function tellErrors(app: Hono, onError?: (error: unknown) => void): Hono {
  app.notFound(({ json, req }) => {
    const error = new LudusError("no-such-path", { got: `${req.method} ${req.path}`, expected: "a path of the API" });
    return json(openAiError(httpError(error)), 404);
  });
  app.onError((error, context) => {
    onError?.(error);
    const told = httpError(error);
    if (told.status === 429) context.header("retry-after", "1");
    return context.json(shapeOf(context.req.path)(told), told.status);
  });
  return app;
}

/** How whoever asks there reads errors. */
function shapeOf(path: string): (error: HttpError) => object {
  if (path.endsWith("/messages")) return anthropicError;
  return /:(generateContent|streamGenerateContent)$/.test(path) ? geminiError : openAiError;
}

const RewardBody = z.object({
  /** A number is the part `outcome`. */
  reward: z.union([z.number(), z.record(z.string(), z.number())]),
  success: z.boolean().optional(),
  task: z.string().optional(),
  stop: z.enum([...policyStops, ...infrastructureStops]).optional(),
  failure: z.string().optional(),
});

function rolloutRoutes(rollouts: RecordedRollouts, handler: ModelHandler): Hono {
  const routes = new Hono();
  routes.post("/:rollout/reward", async (context) => {
    const { reward, success, task, stop, failure } = await readBody(context, RewardBody);
    const score = makeScore(typeof reward === "number" ? { outcome: reward } : reward, success);
    const trajectories = rollouts.end(rolloutName(handler, context) ?? "", {
      score,
      taskId: task,
      ...defined({ stop, failure }),
    });
    return context.json({ trajectories: trajectories.length });
  });
  const found = (id: string, trajectories: readonly Trajectory[] | undefined) => {
    if (trajectories !== undefined) return { trajectories: trajectories.map(trajectoryToJson) };
    throw new LudusError("no-such-rollout", { got: `"${id}"`, expected: "one that ended and was not taken yet" });
  };
  routes.get("/:rollout", ({ req, json }) => json(found(req.param("rollout"), rollouts.read(req.param("rollout")))));
  routes.delete("/:rollout", ({ req, json }) => json(found(req.param("rollout"), rollouts.take(req.param("rollout")))));
  return routes;
}

export function requireKey(key: string): MiddlewareHandler {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return async (context, next) => {
    const bearer = /^Bearer (.+)$/i.exec(context.req.header("authorization") ?? "")?.[1];
    const given = bearer ?? context.req.header("x-api-key") ?? context.req.header("x-goog-api-key");
    if (timingSafeEqual(digest(given ?? ""), digest(key))) return next();
    throw new LudusError("wrong-key", {
      got: given === undefined ? "no key" : "another key",
      expected: "the server's key",
    });
  };
}
