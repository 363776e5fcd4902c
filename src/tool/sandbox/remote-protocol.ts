import { z } from "zod";
import { sandboxLevels } from "./sandbox.ts";

// What a client of boxes and `ludus boxes serve` say to each other. Bytes are base64.

const limits = z.record(z.string(), z.number());
const texts = z.record(z.string(), z.string());

export const remoteInfo = z.object({ name: z.string(), level: z.enum(sandboxLevels) });
export const remoteSpec = z.object({
  atLeast: z.enum(sandboxLevels).optional(),
  image: z.string().optional(),
  files: texts.optional(),
  env: texts.optional(),
  limits: limits.optional(),
});
export const remoteExec = z.object({
  command: z.string(),
  args: z.array(z.string()).optional(),
  input: z.string().optional(),
  cwd: z.string().optional(),
  env: texts.optional(),
  limits: limits.optional(),
});
export const remoteId = z.object({ id: z.string() });
export const remoteWrite = z.object({ path: z.string(), content: z.string() });
export const remotePath = z.object({ path: z.string() });
export const remoteContent = z.object({ content: z.string() });
export const remoteError = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

const printed = {
  stdout: z.string(),
  stderr: z.string(),
  notApplied: z.array(
    z.object({
      limit: z.enum(["timeoutMs", "outputBytes", "memoryMb", "cpuSeconds", "addressSpaceMb", "fileMb", "processes"]),
      reason: z.string(),
    }),
  ),
};
export const remoteEnded = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("exited"), code: z.number(), signal: z.string().optional(), ...printed }),
  z.object({ kind: z.literal("timeout"), afterMs: z.number(), ...printed }),
  z.object({ kind: z.literal("out-of-memory"), limitMb: z.number(), ...printed }),
  z.object({ kind: z.literal("output-limit"), bytes: z.number(), ...printed }),
  z.object({ kind: z.literal("cancelled"), ...printed }),
  z.object({ kind: z.literal("not-started"), name: z.string(), message: z.string(), ...printed }),
]);
