import { fakeEngine } from "../engine/fake-engine.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import type { World } from "../rollout/world.ts";
import type { GuideContext } from "./guide.ts";

const tokenizer = byteTokenizer({ special: ["<s>", "<e>"], markup: [], eos: "<e>" });
const renderer = compactRenderer({ tokenizer });
const engine = fakeEngine({ vocabularySize: 2, distribution: [1, 1] });

/** What a run makes a guide with, for tests: an engine that says nothing of use, and bytes for tokens. */
export function fakeGuideContext<Data>(env: World<Data>, seed = 0): GuideContext<Data> {
  return { env, split: "train", seed, engine, policy: { renderer, tokenizer }, rollout: {} };
}
