import { LudusError } from "../../errors.ts";
import type { AgentAttempt } from "../agent-attempt.ts";
import { nowhere } from "../agent-gateway.ts";

/** What an agent elsewhere has to know so that the policy answers it. It holds for one attempt. */
export interface ModelAccess {
  /** Of an OpenAI client; without `/v1` it is that of Anthropic's and Google's. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
  readonly id: string;
  readonly seed: number;
}

/** What is handed over of an attempt. Throws where the policy cannot be reached from another process. */
export function modelAccess({ url, apiKey, model, id, seed }: AgentAttempt): ModelAccess {
  if (!url.startsWith(nowhere.base)) return { baseUrl: url, apiKey, model, id, seed };
  throw new LudusError("agent-not-served", {
    got: "an agent of another process, and a policy that is not served",
    expected: "an address at which it finds the policy",
    hint: "Serve it: agentEnv({ serve: {} }).",
  });
}
