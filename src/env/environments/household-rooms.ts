import { LudusError } from "../../errors.ts";
import type { Rng } from "../../random.ts";
import { pick } from "./draw.ts";

/** ALFWorld's six: pick and place, examine in light, clean, heat or cool and place, pick two and place. */
export const chores = ["put", "light", "clean", "heat", "cool", "two"] as const;
export type Chore = (typeof chores)[number];

export interface Place {
  readonly name: string;
  readonly kind: string;
  /** Closed at first. */
  readonly isOpenable: boolean;
}

export interface Thing {
  readonly name: string;
  readonly kind: string;
  /** Name of the place where it is at first. */
  readonly at: string;
}

export interface Household {
  readonly chore: Chore;
  readonly room: string;
  /** Kind of thing. */
  readonly thing: string;
  /** Kind of place; empty where nothing is to be put anywhere. */
  readonly target: string;
  readonly places: readonly Place[];
  readonly things: readonly Thing[];
}

export interface RoomOptions {
  chores: readonly Chore[];
  rooms: readonly string[];
  /** Places of one kind, at most. */
  copies: number;
  /** Things that are not asked for. */
  otherThings: number;
}

interface Room {
  readonly places: Readonly<Record<string, number>>;
  /** Where each thing may be, as people would keep it, and be asked to be put. */
  readonly things: Readonly<Record<string, string>>;
}

export const openable: readonly string[] = ["cabinet", "drawer", "fridge", "microwave", "safe"];
export const lamp = "desklamp";
/** Where a chore is done on the way. */
export const appliances: Readonly<Partial<Record<Chore, string>>> = {
  clean: "sinkbasin",
  heat: "microwave",
  cool: "fridge",
};

const edible = ["apple", "tomato", "potato", "egg", "bread"];
const dishes = ["mug", "cup", "plate", "bowl"];
const can: Readonly<Partial<Record<Chore, readonly string[]>>> = {
  clean: [...edible.slice(0, 3), ...dishes, "knife", "spoon", "pan", "soapbar", "cloth"],
  heat: [...edible, "mug", "cup", "plate"],
  cool: [...edible, ...dishes, "pan"],
};

/** The office is kept for the split `unseen-room`. */
export const rooms: Readonly<Record<string, Room>> = {
  kitchen: {
    places: {
      countertop: 3,
      cabinet: 6,
      drawer: 3,
      fridge: 1,
      microwave: 1,
      sinkbasin: 1,
      stoveburner: 2,
      diningtable: 1,
      coffeemachine: 1,
      garbagecan: 1,
    },
    things: {
      apple: "countertop diningtable fridge garbagecan",
      tomato: "countertop diningtable fridge sinkbasin",
      potato: "countertop diningtable fridge garbagecan",
      egg: "countertop fridge garbagecan",
      bread: "countertop diningtable fridge cabinet",
      mug: "cabinet countertop coffeemachine diningtable sinkbasin",
      cup: "cabinet countertop diningtable sinkbasin",
      plate: "cabinet countertop diningtable",
      bowl: "cabinet countertop diningtable",
      knife: "drawer countertop diningtable",
      spoon: "drawer countertop diningtable sinkbasin",
      pan: "stoveburner countertop cabinet",
      saltshaker: "cabinet drawer countertop diningtable",
    },
  },
  bedroom: {
    places: { bed: 1, desk: 2, drawer: 5, shelf: 3, dresser: 1, sidetable: 1, safe: 1, garbagecan: 1 },
    things: {
      book: "bed desk shelf sidetable",
      pen: "desk drawer garbagecan sidetable",
      cellphone: "bed desk dresser drawer",
      laptop: "bed desk dresser",
      keychain: "drawer safe shelf sidetable",
      cd: "desk drawer garbagecan safe",
      creditcard: "desk drawer dresser sidetable",
      pillow: "bed dresser",
      alarmclock: "desk dresser shelf",
      [lamp]: "desk sidetable",
    },
  },
  livingroom: {
    places: { sofa: 1, armchair: 2, coffeetable: 1, sidetable: 2, drawer: 4, shelf: 3, tvstand: 1, garbagecan: 1 },
    things: {
      newspaper: "sofa coffeetable drawer garbagecan",
      remotecontrol: "sofa armchair coffeetable tvstand",
      vase: "coffeetable shelf sidetable tvstand",
      watch: "coffeetable drawer shelf sidetable",
      box: "armchair coffeetable sofa",
      pillow: "armchair sofa",
      keychain: "coffeetable drawer sidetable",
      laptop: "armchair coffeetable sofa",
      creditcard: "armchair coffeetable drawer",
      [lamp]: "sidetable",
    },
  },
  bathroom: {
    places: { sinkbasin: 2, countertop: 1, cabinet: 4, toilet: 1, shelf: 1, towelholder: 1, bathtub: 1, garbagecan: 1 },
    things: {
      soapbar: "bathtub cabinet countertop sinkbasin",
      cloth: "bathtub cabinet countertop towelholder",
      soapbottle: "cabinet countertop toilet garbagecan",
      toiletpaper: "cabinet countertop toilet",
      spraybottle: "cabinet countertop garbagecan shelf",
      candle: "cabinet countertop shelf toilet",
    },
  },
  office: {
    places: { desk: 3, drawer: 4, shelf: 4, cabinet: 2, armchair: 1, safe: 1, garbagecan: 1 },
    things: {
      book: "desk shelf cabinet",
      pen: "desk drawer garbagecan",
      laptop: "desk armchair cabinet",
      cellphone: "desk drawer armchair",
      keychain: "desk drawer safe",
      creditcard: "desk drawer safe",
      newspaper: "desk armchair garbagecan",
      [lamp]: "desk shelf",
    },
  },
};

/** Kinds of places that this kind of thing may be in. */
export function usualPlaces(room: string, thing: string): readonly string[] {
  return rooms[room]?.things[thing]?.split(" ") ?? [];
}

/** A room where the chore can be done and is not done yet. */
export function drawHousehold(rng: Rng, options: RoomOptions): Household {
  const chore = pick(rng, options.chores);
  const pairs = options.rooms.flatMap((room) => thingsFor(chore, room).map((thing) => ({ room, thing })));
  if (pairs.length === 0) {
    const got = `the chore "${chore}" in ${options.rooms.join(", ")}`;
    throw new LudusError("no-task", { got, expected: "a room where it can be done" });
  }
  const { room, thing } = pick(rng, pairs);
  const places = placesOf(room, options.copies);
  const target = chore === "light" ? "" : pick(rng, usualPlaces(room, thing));
  const others = Object.keys(rooms[room].things).filter((kind) => kind !== thing && kind !== lamp);
  const kinds = [
    ...(chore === "two" ? [thing, thing] : [thing]),
    ...(rooms[room].things[lamp] === undefined ? [] : [lamp]),
    ...Array.from({ length: options.otherThings }, () => pick(rng, others)),
  ];
  const counts = new Map<string, number>();
  const things = kinds.map((kind): Thing => {
    const number = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, number);
    const usual = usualPlaces(room, kind).filter((place) => kind !== thing || place !== target);
    return {
      name: `${kind} ${number}`,
      kind,
      at: pick(
        rng,
        places.filter((place) => usual.includes(place.kind)),
      ).name,
    };
  });
  return { chore, room, thing, target, places, things };
}

function thingsFor(chore: Chore, room: string): string[] {
  const { places, things } = rooms[room];
  const appliance = appliances[chore];
  if (appliance !== undefined && places[appliance] === undefined) return [];
  if (chore === "light" && things[lamp] === undefined) return [];
  return Object.keys(things).filter((kind) => kind !== lamp && (can[chore]?.includes(kind) ?? true));
}

function placesOf(room: string, copies: number): Place[] {
  return Object.entries(rooms[room].places).flatMap(([kind, count]) =>
    Array.from({ length: Math.min(count, copies) }, (_, index) => {
      return { name: `${kind} ${index + 1}`, kind, isOpenable: openable.includes(kind) };
    }),
  );
}
