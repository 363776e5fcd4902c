import { z } from "zod";
import { defined } from "../../defined.ts";
import type { Rng } from "../../random.ts";
import { pick } from "./draw.ts";

export type Arguments = Readonly<Record<string, string | number | boolean>>;

/** A request for one tool, in words and in as few of them as will do, with the arguments that it asks for. */
export interface Request {
  readonly arguments: Arguments;
  readonly says: readonly string[];
  readonly short: readonly string[];
}

export interface EverydayTool {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodObject;
  request(rng: Rng): Request;
}

const cities = ["Oslo", "Paris", "Rome", "Lima", "Cairo", "Delhi", "Kyoto", "Quito", "Accra", "Perth"];
const people = ["Ann", "Bob", "Carl", "Dina", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jill"];
const texts = ["see you soon", "call me back", "good night", "I am late", "thank you", "where are you", "all is well"];
const languages = ["French", "German", "Spanish", "Dutch", "Polish"] as const;
const currencies = ["EUR", "USD", "GBP", "JPY", "CHF"] as const;
const places = ["Roma", "Saigon", "Taj", "Olive", "Harbour", "Mesa"];
const artists = ["Abba", "Mozart", "Queen", "Bowie", "Satie", "Prince"];

function timeOf(rng: Rng): string {
  const pad = (value: number) => String(value).padStart(2, "0");
  return `${pad(rng.integer(24))}:${pad(5 * rng.integer(12))}`;
}

const operators = { "+": "plus", "-": "minus", "*": "times", "/": "divided by" } as const;

/** A boolean is false unless the request says so; an optional parameter is left out unless it does. */
export const everydayTools: readonly EverydayTool[] = [
  {
    name: "weather",
    description: "Tells the temperature in a city",
    input: z.object({ city: z.string(), unit: z.enum(["C", "F"]) }),
    request(rng) {
      const [city, unit] = [pick(rng, cities), pick(rng, ["C", "F"])];
      const degrees = unit === "C" ? "Celsius" : "Fahrenheit";
      return {
        arguments: { city, unit },
        says: [`How warm is it in ${city}, in ${degrees}?`, `Give me the temperature in ${city} in ${degrees}.`],
        short: [`${city} in ${unit}?`, `how warm is ${city} ${unit}?`],
      };
    },
  },
  {
    name: "calculate",
    description: "Computes with two numbers",
    input: z.object({ a: z.number(), operator: z.enum(["+", "-", "*", "/"]), b: z.number() }),
    request(rng) {
      const [a, b] = [2 + rng.integer(98), 2 + rng.integer(98)];
      const operator = pick(rng, ["+", "-", "*", "/"] as const);
      return {
        arguments: { a, operator, b },
        says: [`What is ${a} ${operators[operator]} ${b}?`, `Compute ${a} ${operators[operator]} ${b} for me.`],
        short: [`${a} ${operator} ${b}?`, `what is ${a} ${operator} ${b}?`],
      };
    },
  },
  {
    name: "alarm",
    description: "Sets an alarm, for once or for every day",
    input: z.object({ time: z.string().describe("hours and minutes, 07:30"), daily: z.boolean() }),
    request(rng) {
      const [time, daily] = [timeOf(rng), rng.next() < 0.5];
      const [often, shortly] = daily ? [" every day", " daily"] : ["", ""];
      return {
        arguments: { time, daily },
        says: [`Wake me up at ${time}${often}.`, `Set an alarm for ${time}${often}.`],
        short: [`wake me ${time}${shortly}`, `alarm at ${time}${shortly}`],
      };
    },
  },
  {
    name: "translate",
    description: "Translates a text",
    input: z.object({ language: z.enum(languages), text: z.string() }),
    request(rng) {
      const [language, text] = [pick(rng, languages), pick(rng, texts)];
      return {
        arguments: { language, text },
        says: [`How do you say "${text}" in ${language}?`, `Translate "${text}" into ${language}.`],
        short: [`${language} for ${text}`, `say in ${language}: ${text}`],
      };
    },
  },
  {
    name: "convert",
    description: "Converts an amount of money",
    input: z.object({ amount: z.number(), from: z.enum(currencies), to: z.enum(currencies) }),
    request(rng) {
      const amount = (1 + rng.integer(200)) / 2;
      const from = pick(rng, currencies);
      const to = pick(
        rng,
        currencies.filter((currency) => currency !== from),
      );
      return {
        arguments: { amount, from, to },
        says: [`How much is ${amount} ${from} in ${to}?`, `Convert ${amount} ${from} to ${to}.`],
        short: [`${amount} ${from} in ${to}?`, `change ${amount} ${from} to ${to}`],
      };
    },
  },
  {
    name: "message",
    description: "Sends a message to a person",
    input: z.object({ to: z.string(), text: z.string() }),
    request(rng) {
      const [to, text] = [pick(rng, people), pick(rng, texts)];
      return {
        arguments: { to, text },
        says: [`Send ${to} a message that says "${text}".`, `Write to ${to}: "${text}".`],
        short: [`tell ${to} ${text}`, `write ${to}: ${text}`],
      };
    },
  },
  {
    name: "reserve",
    description: "Reserves a table in a restaurant",
    input: z.object({ place: z.string(), guests: z.int(), outside: z.boolean().optional() }),
    request(rng) {
      const [place, guests, outside] = [pick(rng, places), 2 + rng.integer(7), rng.next() < 0.4];
      const where = outside ? " outside" : "";
      return {
        arguments: { place, guests, ...defined({ outside: outside ? outside : undefined }) },
        says: [`Get me a table for ${guests}${where} at ${place}.`, `Book ${place} for ${guests} people${where}.`],
        short: [`table for ${guests} at ${place}${where}`, `book ${place} for ${guests}${where}`],
      };
    },
  },
  {
    name: "play",
    description: "Plays music, in order or shuffled",
    input: z.object({ artist: z.string(), shuffle: z.boolean() }),
    request(rng) {
      const [artist, shuffle] = [pick(rng, artists), rng.next() < 0.5];
      return {
        arguments: { artist, shuffle },
        says: [
          `I want to hear ${artist}${shuffle ? ", shuffled" : ""}.`,
          `Play ${shuffle ? "a shuffle of " : ""}${artist}.`,
        ],
        short: [`play ${artist}${shuffle ? " mixed" : ""}`, `hear ${artist}${shuffle ? " mixed" : ""}`],
      };
    },
  },
];

/** What none of the tools can do. */
export const impossible: readonly { readonly says: string; readonly short: string }[] = [
  { says: "Please water the plants.", short: "water the plants" },
  { says: "Delete all my photos from last year.", short: "delete my photos" },
  { says: "Who won the match yesterday?", short: "who won?" },
  { says: "Turn off the lights in the kitchen.", short: "lights off" },
  { says: "Order me a large pizza.", short: "order a pizza" },
  { says: "Tell me a joke about cats.", short: "tell me a joke" },
  { says: "Find the keys that I lost.", short: "find my keys" },
  { says: "Print this page twice.", short: "print this page" },
];

/** Said besides the request; asks for nothing, but names what a request might. */
export function drawDistractor(rng: Rng): { says: string; short: string } {
  const [city, person, time, amount] = [pick(rng, cities), pick(rng, people), timeOf(rng), 2 + rng.integer(98)];
  return pick(rng, [
    { says: `I just came back from ${city}.`, short: `I was in ${city}.` },
    { says: `I had lunch with ${person} today.`, short: `I met ${person}.` },
    { says: `It is ${time} already.`, short: `it is ${time}.` },
    { says: `I spent ${amount} EUR this morning.`, short: `I spent ${amount} EUR.` },
  ]);
}
