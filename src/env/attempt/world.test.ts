import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { worldContract } from "../../rollout/world.contract.ts";
import type { World } from "../../rollout/world.ts";
import { bandit } from "../environments/bandit.ts";
import { searchQa } from "../environments/search-qa.ts";
import { scriptedEngine } from "./contract/scripted-engine.ts";

const tokenizer = byteTokenizer();
const renderer = compactRenderer({ tokenizer });
const policy = () => ({ ...scriptedEngine({ tokenizer, renderer, says: ["=a"] }), tokenizer });

worldContract("an environment without tools", () => ({ world: bandit() as World, policy }));
worldContract("an environment with tools", () => ({ world: searchQa() as World, policy }));
