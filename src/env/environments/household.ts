import { defined } from "../../defined.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { ActContext, Acted, Env } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import { planChore } from "./household-expert.ts";
import { type Chore, chores, drawHousehold, type Household } from "./household-rooms.ts";
import { type HouseholdWords, householdWords } from "./household-words.ts";
import { admissible, enterHousehold, type HouseholdState, isDone, perform } from "./household-world.ts";
import type { Style } from "./moves.ts";
import { formatRule, ragenSystem } from "./ragen-prompt.ts";

export interface HouseholdOptions {
  style: Style;
  chores: readonly Chore[];
  /** Places of one kind, at most; all of them in tags style, 2 in compact style. */
  copies: number | "by-style";
  /** Things that are not asked for; 10 in tags style, 4 in compact style. */
  otherThings: number | "by-style";
  turns: number;
  /** Whether what can be done is told with every observation, as GiGPO's prompts do. */
  tellsCommands: boolean;
  /** `explorer` looks until it has seen what it needs; `knowing` goes straight there, for short demonstrations. */
  expert: "explorer" | "knowing";
  seed: number;
}

const knownHouseholdOptions: KnownOptions<HouseholdOptions> = {
  style: true,
  chores: true,
  copies: true,
  otherThings: true,
  turns: true,
  tellsCommands: true,
  expert: true,
  seed: true,
};

const defaults: HouseholdOptions = {
  style: "compact",
  chores,
  copies: "by-style",
  otherThings: "by-style",
  turns: 50,
  tellsCommands: false,
  expert: "explorer",
  seed: 0,
};

const trainingRooms = ["kitchen", "bedroom", "livingroom", "bathroom"];
const sizes = { tags: { copies: 10, otherThings: 10 }, compact: { copies: 2, otherThings: 4 } };

/**
 * ALFWorld's chores in one room: find things, clean, heat or cool them, put them where they belong. The score is 1 when the
 * chore is done, which ends the episode. Goals of the split `test` never occur in training; `unseen-room` is an office, where
 * nothing can be cleaned, heated or cooled.
 */
export function household(options: Partial<HouseholdOptions> = {}): Env<Household, HouseholdState> {
  refuseUnknownOptions("household", options, knownHouseholdOptions);
  const chosen = { ...defaults, ...options };
  const { style, turns, seed } = chosen;
  const copies = chosen.copies === "by-style" ? sizes[style].copies : chosen.copies;
  const otherThings = chosen.otherThings === "by-style" ? sizes[style].otherThings : chosen.otherThings;
  checkWholeOptions("household", {
    copies: [copies, 1, 100],
    otherThings: [otherThings, 0, 100],
    turns: [turns, 1, 1000],
    chores: [chosen.chores.length, 1, chores.length],
  });
  const words = householdWords(style);
  const inOffice = chosen.chores.filter((chore) => chore === "put" || chore === "light" || chore === "two");
  return defineEnv<Household, HouseholdState>({
    name: "household",
    description: "Do chores in a room: find, clean, heat, cool and put away things",
    tasks: generated(
      (rng, split) => {
        const isUnseen = split === "unseen-room";
        const rooms = isUnseen ? ["office"] : trainingRooms;
        return drawHousehold(rng, { chores: isUnseen ? inOffice : chosen.chores, rooms, copies, otherThings });
      },
      {
        name: "household",
        seed,
        key: ({ chore, thing, target }: Household) => `${chore} ${thing} ${target}`,
        splits: inOffice.length > 0 ? ["train", "test", "unseen-room"] : ["train", "test"],
      },
    ),
    ...defined({ system: style === "tags" ? ragenSystem : undefined }),
    start({ task }) {
      const state = enterHousehold(task);
      const intro = style === "tags" ? `${introduction}\n\n` : "";
      return { state, say: intro + withCommands(words.introduce(task), state, words, chosen) };
    },
    act: (context) => act(context, words, chosen),
    score: ({ state }) => (isDone(state) ? 1 : 0),
    expert({ state }) {
      const command = planChore(state, chosen.expert === "knowing");
      return command && words.write(command);
    },
    actions: ({ state }) => admissible(state).map(words.write),
    stateKey: nameState,
    limits: { turns, turnTokens: style === "tags" ? 256 : 12 },
    format: style === "tags" ? thinkAnswer() : plain(),
  });
}

const introduction = [
  "You are in a household and have a task to do there. In each turn, give one command:",
  "go to (place), open (place), close (place), take (thing) from (place), put (thing) in/on (place),",
  "clean (thing) with (sinkbasin), heat (thing) with (microwave), cool (thing) with (fridge), use (lamp),",
  "examine (place or thing), inventory, look. You can carry one thing at a time.",
  formatRule,
].join("\n");

function withCommands(say: string, state: HouseholdState, words: HouseholdWords, options: HouseholdOptions): string {
  if (!options.tellsCommands) return say;
  const commands = admissible(state)
    .map(words.write)
    .join(options.style === "tags" ? ", " : "|");
  return `${say}\n${options.style === "tags" ? "Your admissible commands are: " : ""}${commands}`;
}

function act(
  { state, answer }: ActContext<Household, HouseholdState>,
  words: HouseholdWords,
  options: HouseholdOptions,
): Acted {
  const said = words.read(answer);
  const command = admissible(state).find((each) => words.write(each) === said);
  if (command !== undefined) perform(state, command);
  const say = command === undefined ? words.nothing : words.tell(state, command);
  const info = { isValid: command !== undefined };
  return { say: withCommands(say, state, words, options), done: isDone(state), info };
}

/** Without what was seen: the key describes the world, not what the agent knows of it. */
function nameState({ household: { chore, thing, target }, ...state }: HouseholdState): string {
  const { at = "", holding = "", open, where, conditions, isLampOn } = state;
  const things = Array.from(conditions, ([name, had]) => `${name}@${where.get(name) ?? ""}${[...had].sort().join("")}`);
  return [chore, thing, target, at, holding, [...open].sort().join(), things.sort().join(), isLampOn].join("|");
}
