import { z } from "zod";
import { callTool } from "../../../src/tool/call-tool.ts";
import { tool } from "../../../src/tool/define-tool.ts";
import { fakeContext } from "../../../src/tool/fake-context.ts";
import { hostileText, jsonObject, pick, piece } from "../hostile-text.ts";
import { check } from "../refusal.ts";
import type { FuzzTarget } from "../target.ts";

interface Input {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  readonly answer: string;
}

const limits = { toolMs: 1_000, observationChars: 2_000 };

/** A call of a policy with any arguments: an observation of bounded length, never an exception. */
export const toolsTarget: FuzzTarget<Input> = {
  name: "tools",
  generate(rng) {
    return {
      name: pick(rng, ["search", "book", "serch", "__proto__", piece(rng), hostileText(rng, 2_000)]),
      arguments: jsonObject(rng, 40),
      answer: hostileText(rng, 10_000),
    };
  },
  async run({ name, arguments: given, answer }) {
    const tools = {
      search: tool({ description: "Finds", input: z.object({ query: z.string().max(100) }), run: () => answer }),
      book: tool({
        description: "Books",
        input: z.object({ place: z.string(), seats: z.int().min(1), wishes: z.array(z.string()).default([]) }),
        run: (input) => ({ ...input, answer }),
      }),
    };
    const result = await callTool(tools, { name, arguments: given }, fakeContext({}), limits);
    check(result.kind === "observed", "no call of a policy is a fault of the tool");
    check(result.record.observation.length <= limits.observationChars, "an observation keeps to its limit");
  },
};
