import { createHash } from "node:crypto";
import { z } from "zod";
import type { Job } from "../../queue/queue.ts";
import { fromLosslessJson, toLosslessJson } from "../../schema/lossless-json.ts";
import { parseWith } from "../../schema/parse-with.ts";
import { infrastructureStops, policyStops } from "../../schema/stop-reason.ts";
import { taskFromJson } from "../../schema/task-json.ts";
import { decodeTrajectory, encodeTrajectory } from "../../schema/trajectory-binary.ts";
import type { Rollout } from "../rollout.ts";

/** Attempts at one task: all that a worker has to know, as JSON can hold it. */
const Spec = z.object({
  task: z.unknown().transform(taskFromJson),
  attempts: z.array(z.object({ id: z.string(), seed: z.number() })).min(1),
  /** The id of the policy's card. */
  policy: z.string(),
  policyVersion: z.number(),
  sampling: z.object({
    temperature: z.number().exactOptional(),
    topP: z.number().exactOptional(),
    topK: z.number().exactOptional(),
    epsilonTool: z.number().exactOptional(),
  }),
  limits: z.record(z.string(), z.number()).exactOptional(),
  training: z.object({ step: z.number(), progress: z.number() }).exactOptional(),
  /** Names of what a job cannot carry: the worker's own must be the same. */
  names: z.object({ format: z.string().exactOptional(), context: z.string().exactOptional() }),
});

export type JobSpec = z.infer<typeof Spec>;

/** Its id follows from all that is in it: a trainer that was killed and resumed offers the same jobs. */
export function makeJob(world: string, spec: JobSpec): Job {
  const text = toLosslessJson(spec);
  return { id: createHash("sha256").update(world).update("\n").update(text).digest("hex"), world, spec: text };
}

export function readSpec(text: string): JobSpec {
  return parseWith(Spec, fromLosslessJson(text), "a job", "bad-job");
}

const Header = z.object({
  rollouts: z.array(
    z.object({
      id: z.string(),
      stop: z.enum([...policyStops, ...infrastructureStops]),
      failure: z.string().exactOptional(),
      timing: z.object({
        sampleMs: z.number(),
        totalMs: z.number(),
        turns: z
          .array(z.object({ role: z.string(), startMs: z.number(), saidMs: z.number(), endMs: z.number() }))
          .exactOptional(),
      }),
      /** Bytes of each of its trajectories, in order. */
      sizes: z.array(z.int()),
    }),
  ),
});

/** Length of the header (u32, little-endian), the header as JSON, the trajectories' bytes one after the other. */
export function encodeResult(rollouts: readonly Rollout[]): Uint8Array {
  const parts = rollouts.map(({ trajectories }) => trajectories.map(encodeTrajectory));
  const header = Buffer.from(
    toLosslessJson({
      rollouts: rollouts.map(({ task: _task, trajectories: _trajectories, ...rest }, i) => ({
        ...rest,
        sizes: parts[i]!.map(({ length }) => length),
      })),
    }),
  );
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.length);
  return Buffer.concat([length, header, ...parts.flat()]);
}

/** Throws for anything but whole results. */
export function decodeResult(bytes: Uint8Array): Omit<Rollout, "task">[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = 4 + buffer.readUInt32LE(0);
  const { rollouts } = parseWith(Header, fromLosslessJson(buffer.toString("utf8", 4, end)), "a result", "bad-result");
  let at = end;
  return rollouts.map(({ sizes, ...rest }) => {
    const trajectories = sizes.map((size) => {
      const trajectory = decodeTrajectory(new Uint8Array(buffer.subarray(at, at + size)));
      at += size;
      return trajectory;
    });
    return { ...rest, trajectories };
  });
}
