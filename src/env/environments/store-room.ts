import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import type { Rng } from "../../random.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { Acted, Env } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import type { Style } from "./moves.ts";
import { formatRule } from "./ragen-prompt.ts";

export interface StoreRoomOptions {
  style: Style;
  shelves: number;
  /** A third role that reads what was asked for and what was brought, and may send the worker back once. */
  hasCritic: boolean;
  /** What each role is rewarded for: what came of it all, or its own part in it. Success is always that of all. */
  credit: "shared" | "own";
  seed: number;
}

const known: KnownOptions<StoreRoomOptions> = { style: true, shelves: true, hasCritic: true, credit: true, seed: true };
const defaults: StoreRoomOptions = { style: "compact", shelves: 6, hasCritic: false, credit: "own", seed: 0 };

export interface StoreRoomTask {
  /** Goods by shelf, and the code that is written on each shelf. */
  readonly goods: string;
  readonly codes: string;
  readonly wanted: string;
}

export interface StoreRoomState {
  /** What the planner told the worker. */
  plan: string;
  /** What the worker brought last. */
  brought: string;
  /** Whether the critic was right about it; undefined as long as it has said nothing. */
  isCriticRight: boolean | undefined;
  wasSentBack: boolean;
}

const [planner, worker, critic] = ["planner", "worker", "critic"];

/**
 * Work shared between roles. The planner reads which goods are on which shelf (`hkbq>b`) and tells the worker a shelf (`3`); the worker reads that and the codes of the
 * shelves (`3|7295`), and answers with the code of that one (`9`). A critic, if there is one, reads what was asked for, the goods, the codes and the answer, and says `ok` or `again`.
 * The task is solved where the answer is the code of the shelf with the wanted goods.
 */
export function storeRoom(options: Partial<StoreRoomOptions> = {}): Env<StoreRoomTask, StoreRoomState> {
  refuseUnknownOptions("storeRoom", options, known);
  const { style, shelves, hasCritic, credit, seed } = { ...defaults, ...options };
  checkWholeOptions("storeRoom", { shelves: [shelves, 2, 9] });
  refuseOtherValue("credit of storeRoom", credit, ["shared", "own"]);
  const say = (role: string, text: string) => `${introduce(style, role)}${text}`;
  return defineEnv<StoreRoomTask, StoreRoomState>({
    name: "store-room",
    description: `A planner and a worker${hasCritic ? ", watched by a critic," : ""} fetch goods from ${shelves} shelves`,
    tasks: generated((rng) => drawTask(rng, shelves), {
      name: `store-room-${shelves}`,
      seed,
      key: ({ goods, codes, wanted }) => `${goods} ${codes} ${wanted}`,
    }),
    roles: hasCritic ? [planner, worker, critic] : [planner, worker],
    start: ({ task }) => ({
      state: { plan: "", brought: "", isCriticRight: undefined, wasSentBack: false },
      say: say(planner, `${task.goods}>${task.wanted}`),
    }),
    act({ task, state, role, answer }): Acted {
      const text = answer.trim();
      switch (role) {
        case planner:
          state.plan = text.slice(0, 8);
          return { say: say(worker, `${state.plan}|${task.codes}`), next: worker };
        case worker: {
          state.brought = text.slice(0, 8);
          if (!hasCritic || state.wasSentBack) return { done: true };
          return { say: say(critic, `${task.goods}>${task.wanted}|${task.codes}|${state.brought}`), next: critic };
        }
        default: {
          const isSentBack = text === "again";
          state.isCriticRight = isSentBack !== isRight(task, state);
          if (!isSentBack) return { done: true };
          state.wasSentBack = true;
          return { say: "again", next: worker };
        }
      }
    },
    score({ task, state, role }) {
      const success = isRight(task, state);
      const part = credit === "shared" ? success : ownPart(task, state, role);
      return { total: part ? 1 : 0, parts: { outcome: part ? 1 : 0 }, success };
    },
    expert: ({ task, state, role }) => {
      if (role === planner) return String(task.goods.indexOf(task.wanted) + 1);
      if (role === worker) return codeAt(task, state.plan) ?? task.codes[0];
      return isRight(task, state) ? "ok" : "again";
    },
    actions: ({ task, role }) => {
      if (role === planner) return [...task.goods].map((_, shelf) => String(shelf + 1));
      return role === worker ? [...task.codes] : ["ok", "again"];
    },
    limits: { turns: hasCritic ? 4 : 2, turnTokens: style === "tags" ? 256 : 8 },
    format: style === "tags" ? thinkAnswer() : plain(),
  });
}

/** A planner names the right shelf, a worker brings what is on the shelf it was told, a critic sends back what is wrong and nothing else. */
function ownPart(task: StoreRoomTask, state: StoreRoomState, role: string): boolean {
  if (role === planner) return state.plan === String(task.goods.indexOf(task.wanted) + 1);
  if (role === worker) return state.brought !== "" && state.brought === codeAt(task, state.plan);
  return state.isCriticRight === true;
}

function isRight(task: StoreRoomTask, { brought }: StoreRoomState): boolean {
  return brought === task.codes[task.goods.indexOf(task.wanted)];
}

function codeAt({ codes }: StoreRoomTask, plan: string): string | undefined {
  return /^\d$/.test(plan) ? codes[Number(plan) - 1] : undefined;
}

function drawTask(rng: Rng, shelves: number): StoreRoomTask {
  const goods = draw(rng, "abcdefghjkmnpqrstuvwxyz", shelves);
  return { goods, codes: draw(rng, "0123456789", shelves), wanted: goods[rng.integer(shelves)] };
}

/** So many different letters. */
function draw(rng: Rng, letters: string, count: number): string {
  const left = [...letters];
  return Array.from({ length: count }, () => left.splice(rng.integer(left.length), 1)[0]).join("");
}

function introduce(style: Style, role: string): string {
  if (style === "compact") return "";
  const about = new Map([
    [
      planner,
      "You see the goods on the shelves, in order, and after > what is wanted. Answer with the number of its shelf, from 1",
    ],
    [
      worker,
      "You see the number of a shelf, and after | the codes on all shelves, in order. Answer with the code on that shelf",
    ],
    [critic, "You see the goods, what is wanted, the codes and the code that was brought. Answer ok or again"],
  ]);
  return `${about.get(role)}.\n${formatRule}\n`;
}
