import { appliances, lamp, type Place, type Thing, usualPlaces } from "./household-rooms.ts";
import { type Command, type HouseholdState, isClosed, isReady, placeOf, thingOf, thingsIn } from "./household-world.ts";

/**
 * The next step of a plan. An explorer knows what it has seen: it looks into one place after the other, first where such
 * things usually are. With full knowledge it goes straight to them. Undefined when everything was seen and what is needed was
 * not found.
 */
export function planChore(state: HouseholdState, knows: boolean): Command | undefined {
  const held = thingOf(state, state.holding);
  if (held === undefined) return fetch(state, knows);
  return held.kind === state.household.thing ? bring(state, held, knows) : putDown(state, held);
}

function fetch(state: HouseholdState, knows: boolean): Command | undefined {
  const { household, where, seen } = state;
  const target = targetOf(state);
  const thing = household.things.find((each) => {
    const at = where.get(each.name)!;
    return each.kind === household.thing && (knows || seen.has(at)) && !(at === target?.name && isReady(state, each));
  });
  if (thing === undefined) return explore(state, household.thing);
  const place = placeOf(state, where.get(thing.name))!;
  return reach(state, place) ?? { verb: "take", thing: thing.name, place: place.name };
}

function bring(state: HouseholdState, held: Thing, knows: boolean): Command | undefined {
  const { household, where, seen } = state;
  const { chore } = household;
  if (chore === "light") {
    const lit = household.things.find(({ kind, name }) => kind === lamp && (knows || seen.has(where.get(name)!)));
    if (lit === undefined) return explore(state, lamp);
    return reach(state, placeOf(state, where.get(lit.name))!) ?? { verb: "use", thing: lit.name };
  }
  if (!isReady(state, held) && (chore === "clean" || chore === "heat" || chore === "cool")) {
    const place = household.places.find(({ kind }) => kind === appliances[chore])!.name;
    return state.at === place ? { verb: chore, thing: held.name, place } : { verb: "go", place };
  }
  const target = targetOf(state)!;
  return reach(state, target) ?? { verb: "put", thing: held.name, place: target.name };
}

/** Where something of the kind lies already, so that two come together. */
function targetOf(state: HouseholdState): Place | undefined {
  const { places, target, thing } = state.household;
  const fitting = places.filter(({ kind }) => kind === target);
  const holds = ({ name }: Place) => thingsIn(state, name).some((each) => thingOf(state, each)!.kind === thing);
  return fitting.find((place) => state.seen.has(place.name) && holds(place)) ?? fitting[0];
}

function putDown(state: HouseholdState, held: Thing): Command | undefined {
  const here = placeOf(state, state.at);
  const isAtHand = here !== undefined && !isClosed(state, here);
  const place = isAtHand ? here : state.household.places.find((each) => !isClosed(state, each));
  return place && (reach(state, place) ?? { verb: "put", thing: held.name, place: place.name });
}

/** What it takes to have a place open before oneself; nothing where it is. */
function reach(state: HouseholdState, place: Place): Command | undefined {
  if (state.at !== place.name) return { verb: "go", place: place.name };
  return isClosed(state, place) ? { verb: "open", place: place.name } : undefined;
}

function explore(state: HouseholdState, sought: string): Command | undefined {
  const { places, room } = state.household;
  const usual = usualPlaces(room, sought);
  const unseen = places.filter(({ name }) => !state.seen.has(name));
  // having come to a closed place, open it before going elsewhere
  const next =
    unseen.find(({ name }) => name === state.at) ?? unseen.find(({ kind }) => usual.includes(kind)) ?? unseen[0];
  return next && reach(state, next);
}
