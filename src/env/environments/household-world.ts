import { appliances, type Household, lamp, type Place, type Thing } from "./household-rooms.ts";

export type Command =
  | { readonly verb: "go" | "open" | "close"; readonly place: string }
  | { readonly verb: "take" | "put" | "clean" | "heat" | "cool"; readonly thing: string; readonly place: string }
  | { readonly verb: "use"; readonly thing: string }
  | { readonly verb: "examine"; readonly what: string }
  | { readonly verb: "inventory" | "look" };

type Condition = "clean" | "hot" | "cool";

export interface HouseholdState {
  readonly household: Household;
  /** Name of a place; undefined in the middle of the room. */
  at: string | undefined;
  holding: string | undefined;
  /** Names of places that were opened. */
  readonly open: Set<string>;
  /** Where each thing is; what is held is nowhere. */
  readonly where: Map<string, string>;
  readonly conditions: Map<string, Set<Condition>>;
  isLampOn: boolean;
  /** Places whose contents were seen: what an explorer knows. */
  readonly seen: Set<string>;
}

export function enterHousehold(household: Household): HouseholdState {
  return {
    household,
    at: undefined,
    holding: undefined,
    isLampOn: false,
    open: new Set(),
    where: new Map(household.things.map(({ name, at }) => [name, at])),
    conditions: new Map(household.things.map(({ name }) => [name, new Set()])),
    seen: new Set(),
  };
}

export function placeOf({ household }: HouseholdState, name: string | undefined): Place | undefined {
  return household.places.find((place) => place.name === name);
}

export function thingOf({ household }: HouseholdState, name: string | undefined): Thing | undefined {
  return household.things.find((thing) => thing.name === name);
}

export function isClosed(state: HouseholdState, place: Place): boolean {
  return place.isOpenable && !state.open.has(place.name);
}

export function thingsIn({ household, where }: HouseholdState, place: string): string[] {
  return household.things.map(({ name }) => name).filter((name) => where.get(name) === place);
}

/** Everything that can be done now, as ALFWorld lists it. Other commands do nothing. */
export function admissible(state: HouseholdState): Command[] {
  const { household, holding } = state;
  const here = placeOf(state, state.at);
  const moves = household.places
    .filter(({ name }) => name !== state.at)
    .map(({ name }): Command => ({ verb: "go", place: name }));
  const anywhere: Command[] = [{ verb: "inventory" }, { verb: "look" }];
  const held: Command[] = holding === undefined ? [] : [{ verb: "examine", what: holding }];
  return [...moves, ...(here === undefined ? [] : admissibleAt(state, here)), ...held, ...anywhere];
}

function admissibleAt(state: HouseholdState, here: Place): Command[] {
  const { household, holding } = state;
  const place = here.name;
  const examine: Command = { verb: "examine", what: place };
  const process = (["clean", "heat", "cool"] as const).filter((verb) => appliances[verb] === here.kind);
  const processes = holding === undefined ? [] : process.map((verb): Command => ({ verb, thing: holding, place }));
  if (isClosed(state, here)) return [{ verb: "open", place }, ...processes, examine];
  const things = thingsIn(state, place);
  const lamps = household.things.filter(({ kind, name }) => kind === lamp && things.includes(name));
  const takeable = things.filter((name) => !lamps.some((each) => each.name === name));
  return [
    ...(here.isOpenable ? [{ verb: "close", place } as const] : []),
    ...(holding === undefined ? takeable.map((thing): Command => ({ verb: "take", thing, place })) : []),
    ...(holding === undefined ? [] : [{ verb: "put", thing: holding, place } as const]),
    ...processes,
    ...lamps.map(({ name }): Command => ({ verb: "use", thing: name })),
    examine,
    ...things.map((what): Command => ({ verb: "examine", what })),
  ];
}

/** Does what is admissible. */
export function perform(state: HouseholdState, command: Command): void {
  switch (command.verb) {
    case "go":
      state.at = command.place;
      break;
    case "open":
      state.open.add(command.place);
      break;
    case "close":
      state.open.delete(command.place);
      break;
    case "take":
      state.holding = command.thing;
      state.where.delete(command.thing);
      break;
    case "put":
      state.holding = undefined;
      state.where.set(command.thing, command.place);
      break;
    case "clean":
    case "heat":
    case "cool":
      treat(state.conditions.get(command.thing)!, command.verb);
      break;
    case "use":
      state.isLampOn = true;
      break;
    case "examine":
    case "inventory":
    case "look":
      break;
    default:
      command satisfies never;
  }
  const here = placeOf(state, state.at);
  if (here !== undefined && !isClosed(state, here)) state.seen.add(here.name);
}

function treat(conditions: Set<Condition>, verb: "clean" | "heat" | "cool"): void {
  conditions.add(verb === "heat" ? "hot" : verb);
  if (verb === "heat") conditions.delete("cool");
  if (verb === "cool") conditions.delete("hot");
}

/** Whether a thing is as the chore wants it. */
export function isReady({ household, conditions }: HouseholdState, thing: Thing): boolean {
  if (thing.kind !== household.thing) return false;
  const had = conditions.get(thing.name)!;
  switch (household.chore) {
    case "clean":
      return had.has("clean");
    case "heat":
      return had.has("hot");
    case "cool":
      return had.has("cool");
    case "put":
    case "two":
    case "light":
      return true;
    default:
      return household.chore satisfies never;
  }
}

/** Two things count only in one and the same place, as in ALFRED. */
export function isDone(state: HouseholdState): boolean {
  const { household, where, holding } = state;
  if (household.chore === "light") {
    const isLit = household.things.some(({ name, kind }) => kind === lamp && where.get(name) === state.at);
    return state.isLampOn && isLit && thingOf(state, holding)?.kind === household.thing;
  }
  const needed = household.chore === "two" ? 2 : 1;
  return household.places.some(({ name, kind }) => {
    const ready = household.things.filter((thing) => where.get(thing.name) === name && isReady(state, thing));
    return kind === household.target && ready.length >= needed;
  });
}
