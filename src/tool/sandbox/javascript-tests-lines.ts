import { z } from "zod";

export interface JavaScriptTestsRequest {
  /** Goes with every line, so that text from elsewhere is not taken for one. */
  secret: string;
  code: string;
  expressions: readonly string[];
}

const line = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("not-compiled"), message: z.string() }),
  z.object({ kind: z.literal("started"), test: z.number() }),
  z.object({
    kind: z.literal("ended"),
    test: z.number(),
    outcome: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("gave"), text: z.string() }),
      z.object({ kind: z.literal("threw"), text: z.string() }),
      z.object({ kind: z.literal("never-settles") }),
    ]),
  }),
  z.object({ kind: z.literal("finished") }),
]);
export type JavaScriptTestsLine = z.infer<typeof line>;

/** Undefined for text that is not a line of the one who knows the secret. */
export function readLine(text: string, secret: string): JavaScriptTestsLine | undefined {
  try {
    const read = z.object({ secret: z.literal(secret), line }).safeParse(JSON.parse(text));
    return read.success ? read.data.line : undefined;
  } catch {
    return undefined;
  }
}
