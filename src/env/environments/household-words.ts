import type { Household } from "./household-rooms.ts";
import { type Command, type HouseholdState, isClosed, placeOf, thingsIn } from "./household-world.ts";
import type { Style } from "./moves.ts";

/** How commands are written, and what is told. */
export interface HouseholdWords {
  write(command: Command): string;
  /** Normalizes what a policy wrote to the form that `write` gives. */
  read(said: string): string;
  introduce(household: Household): string;
  /** After the command was performed. */
  tell(state: HouseholdState, command: Command): string;
  readonly nothing: string;
}

export function householdWords(style: Style): HouseholdWords {
  return style === "tags" ? alfWorld : compact;
}

const alfWorld: HouseholdWords = {
  write(command) {
    switch (command.verb) {
      case "go":
        return `go to ${command.place}`;
      case "open":
      case "close":
        return `${command.verb} ${command.place}`;
      case "take":
        return `take ${command.thing} from ${command.place}`;
      case "put":
        return `put ${command.thing} in/on ${command.place}`;
      case "clean":
      case "heat":
      case "cool":
        return `${command.verb} ${command.thing} with ${command.place}`;
      case "use":
        return `use ${command.thing}`;
      case "examine":
        return `examine ${command.what}`;
      case "inventory":
      case "look":
        return command.verb;
      default:
        return command satisfies never;
    }
  },
  read: (said) => oneLine(said).replace(/^(put .*?) (?:in|on) /, "$1 in/on "),
  introduce({ places, ...household }) {
    const seen = listed(places.map(({ name }) => name));
    return `You are in the middle of a room. Looking quickly around you, you see ${seen}.\n\nYour task is to: ${ask(household)}.`;
  },
  tell: tellAsAlfWorld,
  nothing: "Nothing happens.",
};

/** ALFWorld writes `a` before every word. */
function listed(names: readonly string[]): string {
  const named = names.map((name) => `a ${name}`);
  if (named.length === 0) return "nothing";
  return named.length === 1 ? named[0] : `${named.slice(0, -1).join(", ")}, and ${named.at(-1)}`;
}

function ask({ chore, thing, target }: Pick<Household, "chore" | "thing" | "target">): string {
  switch (chore) {
    case "put":
      return `put some ${thing} on ${target}`;
    case "light":
      return `look at ${thing} under the desklamp`;
    case "clean":
      return `put a clean ${thing} in ${target}`;
    case "heat":
      return `put a hot ${thing} in ${target}`;
    case "cool":
      return `put a cool ${thing} in ${target}`;
    case "two":
      return `put two ${thing} in ${target}`;
    default:
      return chore satisfies never;
  }
}

function tellAsAlfWorld(state: HouseholdState, command: Command): string {
  switch (command.verb) {
    case "go":
      return `You arrive at ${command.place}. ${describePlace(state, command.place)}`;
    case "open":
      return `You open the ${command.place}. ${describePlace(state, command.place)}`;
    case "close":
      return `You close the ${command.place}.`;
    case "take":
      return `You pick up the ${command.thing} from the ${command.place}.`;
    case "put":
      return `You put the ${command.thing} in/on the ${command.place}.`;
    case "clean":
    case "heat":
    case "cool":
      return `You ${command.verb} the ${command.thing} using the ${command.place}.`;
    case "use":
      return `You turn on the ${command.thing}.`;
    case "examine":
      return placeOf(state, command.what) === undefined
        ? describeThing(state, command.what)
        : describePlace(state, command.what);
    case "inventory":
      return state.holding === undefined ? "You are not carrying anything." : `You are carrying: a ${state.holding}.`;
    case "look":
      if (state.at === undefined)
        return "You are in the middle of a room. Looking quickly around you, you see nothing.";
      return `You are facing the ${state.at}. Next to it, you see nothing.`;
    default:
      return command satisfies never;
  }
}

function describePlace(state: HouseholdState, name: string): string {
  const place = placeOf(state, name)!;
  if (isClosed(state, place)) return `The ${name} is closed.`;
  const seen = listed(thingsIn(state, name));
  return place.isOpenable ? `The ${name} is open. In it, you see ${seen}.` : `On the ${name}, you see ${seen}.`;
}

function describeThing({ conditions }: HouseholdState, name: string): string {
  const had = [...conditions.get(name)!].map((condition) => (condition === "cool" ? "cold" : condition));
  return had.length === 0 ? `There's nothing special about ${name}.` : `This is a ${had.join(" and ")} ${name}.`;
}

/** Of kinds whose first three letters will not do. */
const shortKinds: Readonly<Record<string, string>> = {
  countertop: "top",
  coffeemachine: "cof",
  coffeetable: "cot",
  cellphone: "tel",
  creditcard: "crd",
  soapbottle: "btl",
  candle: "cnd",
  drawer: "drw",
  dresser: "drs",
  desklamp: "lmp",
  tvstand: "tv",
  plate: "plt",
  potato: "pto",
  bathtub: "tub",
  book: "bok",
  toiletpaper: "pap",
};
const letters = {
  go: "g",
  open: "o",
  close: "c",
  take: "t",
  put: "p",
  clean: "w",
  heat: "h",
  cool: "k",
  use: "u",
  examine: "x",
  inventory: "i",
  look: "l",
} as const satisfies Record<Command["verb"], string>;

/** `cab` for `cabinet`, `cab1` for `cabinet 1`. */
export function shortName(name: string): string {
  const [kind = "", number = ""] = name.split(" ");
  return (shortKinds[kind] ?? kind.slice(0, 3)) + number;
}

const compact: HouseholdWords = {
  write(command) {
    const letter = letters[command.verb];
    if ("thing" in command) return `${letter} ${shortName(command.thing)}`;
    if ("place" in command) return `${letter} ${shortName(command.place)}`;
    return "what" in command ? `${letter} ${shortName(command.what)}` : letter;
  },
  read: oneLine,
  introduce({ chore, thing, target, places }) {
    const goal = chore === "light" ? `light ${shortName(thing)}` : `${chore} ${shortName(thing)} ${shortName(target)}`;
    return `${goal}\n${places.map(({ name }) => shortName(name)).join(" ")}`;
  },
  tell(state, command) {
    switch (command.verb) {
      case "go":
      case "open":
        return view(state, command.place);
      case "examine": {
        if (placeOf(state, command.what) !== undefined) return view(state, command.what);
        return [...state.conditions.get(command.what)!].join(" ") || "-";
      }
      case "inventory":
        return state.holding === undefined ? "-" : shortName(state.holding);
      case "look":
        return state.at === undefined ? "-" : shortName(state.at);
      case "close":
      case "take":
      case "put":
      case "clean":
      case "heat":
      case "cool":
      case "use":
        return "ok";
      default:
        return command satisfies never;
    }
  },
  nothing: "no",
};

function view(state: HouseholdState, name: string): string {
  if (isClosed(state, placeOf(state, name)!)) return "shut";
  return thingsIn(state, name).map(shortName).join(" ") || "-";
}

function oneLine(said: string): string {
  return said.trim().replace(/\s+/g, " ").toLowerCase();
}
