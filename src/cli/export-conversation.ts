import { LudusError } from "../errors.ts";
import type { Tokenizer } from "../policy/tokenizer.ts";
import type { World } from "../rollout/world.ts";
import type { Conversation, Message, Turn } from "../schema/index.ts";
import type { StoredTrajectory } from "../store/index.ts";

/** Makes conversations of episodes. */
export type ToConversation = (stored: StoredTrajectory) => Promise<Conversation>;

/**
 * Conversations as the policy had them. What it said is there word for word, calls included, so it is not said again as calls.
 * What it read first is told by the environment where there is one, else by the tokens.
 */
export function conversations(env: World | undefined, tokenizer: Tokenizer | undefined): ToConversation {
  return async (stored) => {
    const { trajectory } = stored;
    const { messages, tools } = await opening(stored, env, tokenizer);
    const said = trajectory.turns.flatMap((turn, index): Message[] => {
      const isLast = index === trajectory.turns.length - 1;
      // what came after the last turn was never read
      return [{ role: "assistant", content: turn.text }, ...(isLast ? [] : answers(turn))];
    });
    return { messages: [...messages, ...said], tools };
  };
}

function answers({ calls, observation }: Turn): Message[] {
  if (calls.length === 0) return [{ role: "user", content: observation }];
  return calls.map(({ name, observation: told }) => ({ role: "tool", name, content: told }));
}

async function opening(stored: StoredTrajectory, env: World | undefined, tokenizer: Tokenizer | undefined) {
  const { trajectory, task } = stored;
  const isFirstToSpeak = trajectory.role === env?.roles[0];
  // a part of a rollout, and a role that comes later, began with something else than the episode
  const isWhole = isFirstToSpeak && trajectory.weight === 1;
  const start = await env?.opening?.(task);
  if (start !== undefined && isWhole) return start;
  if (tokenizer !== undefined) return { messages: promptMessages(stored, tokenizer), tools: start?.tools ?? [] };
  throw new LudusError("prompt-unreadable", {
    got: `${trajectory.id}, of a run whose checkpoints have no tokenizer`,
    expected: "one to read the prompt with, or the environment",
    hint: "Name the file that made the run with --file; --format trajectories needs neither.",
  });
}

const chatTurn = /<\|im_start\|>(system|user|assistant|tool)\n([\s\S]*?)<\|im_end\|>/g;

/** Roles of a ChatML prompt; a prompt without roles is all the user's. */
function promptMessages({ trajectory }: StoredTrajectory, tokenizer: Tokenizer): Message[] {
  const prompt = trajectory.tokens_T.subarray(0, trajectory.turns[0]?.span.start ?? 0);
  const roles = Array.from(tokenizer.decode(prompt, { special: true }).matchAll(chatTurn), ([, role, content]) => ({
    role: role as Message["role"],
    content: content,
  }));
  if (roles.length > 0) return roles;
  const controls = new Set(tokenizer.controlTokens.values());
  // one gives the policy the word; more are a template's
  const isPlain = prompt.subarray(0, -1).every((token) => !controls.has(token));
  if (isPlain) return [{ role: "user", content: tokenizer.decode(prompt) }];
  throw new LudusError("prompt-unreadable", {
    got: `a prompt of ${trajectory.id} in a chat template of its own`,
    expected: "ChatML, or no template",
    hint: "Name the file that made the run with --file: the environment says what was read.",
  });
}
