import { readFile } from "node:fs/promises";
import { z } from "zod";
import { parseBoundedJson } from "../../bounded-json.ts";
import { errorText, LudusError } from "../../errors.ts";
import { parseWith } from "../../schema/parse-with.ts";
import type { ChatReply, ChatRequest } from "./benchmark.ts";
import { type ChatModelOptions, chatModel, type TokenUsage } from "./chat-model.ts";

/** Plays the user of a benchmark. In what it is asked, the user's own messages are those of the role `assistant`. */
export interface UserModel {
  ask(task: string, request: ChatRequest, seed: number, signal: AbortSignal): Promise<ChatReply & TokenUsage>;
}

/** A model behind an endpoint as the user. */
export function modelUser(options: ChatModelOptions): UserModel {
  const model = chatModel(options);
  return { ask: (_, request, seed, signal) => model.ask(request, seed, signal) };
}

const Line = z.union([
  z.string(),
  z.strictObject({
    calls: z.array(z.strictObject({ name: z.string(), arguments: z.record(z.string(), z.unknown()) })),
  }),
]);
const Script = z.record(z.string(), z.array(Line));

/**
 * A user who says what a file has for each task, in order, and ends the conversation then: JSON from the task's id to a list of texts, or of
 * calls of the user's own tools.
 *
 *     { "retail/0": ["My order has not come.", "It is W12.", "###STOP###"] }
 */
export async function scriptedUser(path: string): Promise<UserModel> {
  const script = await readScript(path);
  return {
    async ask(task, { messages }) {
      if (!Object.hasOwn(script, task)) {
        throw new LudusError("bad-user-script", {
          got: `${path} without "${task}"`,
          expected: "what the user of each task says",
        });
      }
      const turn = messages.filter(({ role }) => role === "assistant").length;
      const line = script[task][turn] ?? "###STOP###";
      const usage = { promptTokens: 0, completionTokens: 0 };
      if (typeof line === "string") return { text: line, calls: [], ...usage };
      const calls = line.calls.map(({ name, arguments: given }, index) => {
        return { id: `user-${turn}-${index}`, name, arguments: JSON.stringify(given) };
      });
      return { text: "", calls, ...usage };
    },
  };
}

async function readScript(path: string): Promise<z.infer<typeof Script>> {
  let value: unknown;
  try {
    value = parseBoundedJson(await readFile(path, "utf8"));
  } catch (cause) {
    throw new LudusError("bad-user-script", {
      got: `${path}: ${errorText(cause)}`,
      expected: "the address of a server, or a file of JSON with what the user says",
      cause,
    });
  }
  return parseWith(Script, value, path, "bad-user-script");
}
