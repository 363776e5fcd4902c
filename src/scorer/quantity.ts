import { right, type VerifierVerdict, wrong } from "./verdict.ts";

// Dimensions in this order: length, mass, time, current, temperature, amount, data.
type Dimensions = readonly [number, number, number, number, number, number, number];

interface Unit {
  readonly scale: number;
  readonly dimensions: Dimensions;
  /** Degrees Celsius and Fahrenheit: where their zero is, in kelvin. */
  readonly offset?: number;
}

export interface Quantity {
  /** In SI units. */
  readonly value: number;
  readonly dimensions: Dimensions;
}

const none: Dimensions = [0, 0, 0, 0, 0, 0, 0];
const length: Dimensions = [1, 0, 0, 0, 0, 0, 0];
const mass: Dimensions = [0, 1, 0, 0, 0, 0, 0];
const time: Dimensions = [0, 0, 1, 0, 0, 0, 0];
const current: Dimensions = [0, 0, 0, 1, 0, 0, 0];
const temperature: Dimensions = [0, 0, 0, 0, 1, 0, 0];
const amount: Dimensions = [0, 0, 0, 0, 0, 1, 0];
const data: Dimensions = [0, 0, 0, 0, 0, 0, 1];
const volume: Dimensions = [3, 0, 0, 0, 0, 0, 0];
const frequency: Dimensions = [0, 0, -1, 0, 0, 0, 0];
const force: Dimensions = [1, 1, -2, 0, 0, 0, 0];
const energy: Dimensions = [2, 1, -2, 0, 0, 0, 0];
const power: Dimensions = [2, 1, -3, 0, 0, 0, 0];
const pressure: Dimensions = [-1, 1, -2, 0, 0, 0, 0];
const charge: Dimensions = [0, 0, 1, 1, 0, 0, 0];
const voltage: Dimensions = [2, 1, -3, -1, 0, 0, 0];
const resistance: Dimensions = [2, 1, -3, -2, 0, 0, 0];

/** Each takes a prefix: `km`, `kilometres`. */
const prefixed: readonly (readonly [symbols: string, names: string, scale: number, dimensions: Dimensions])[] = [
  ["m", "meter metre", 1, length],
  ["g", "gram gramme", 1e-3, mass],
  ["s", "second", 1, time],
  ["A", "ampere amp", 1, current],
  ["K", "kelvin", 1, temperature],
  ["mol", "mole", 1, amount],
  ["L l", "liter litre", 1e-3, volume],
  ["Hz", "hertz", 1, frequency],
  ["N", "newton", 1, force],
  ["J", "joule", 1, energy],
  ["W", "watt", 1, power],
  ["Wh", "watt-hour", 3600, energy],
  ["Pa", "pascal", 1, pressure],
  ["bar", "", 1e5, pressure],
  ["C", "coulomb", 1, charge],
  ["V", "volt", 1, voltage],
  ["Ω", "ohm", 1, resistance],
  ["eV", "electronvolt", 1.602176634e-19, energy],
  ["cal", "calorie", 4.184, energy],
  ["t", "tonne", 1000, mass],
  ["B", "byte", 8, data],
  ["b bit", "", 1, data],
];

const plain: readonly (readonly [names: string, scale: number, dimensions: Dimensions, offset?: number])[] = [
  ["min minute", 60, time],
  ["h hr hour", 3600, time],
  ["d day", 86_400, time],
  ["week", 604_800, time],
  ["in inch", 0.0254, length],
  ["ft foot", 0.3048, length],
  ["yd yard", 0.9144, length],
  ["mi mile", 1609.344, length],
  ["nmi", 1852, length],
  ["lb lbs pound", 0.45359237, mass],
  ["oz ounce", 0.028349523125, mass],
  ["ha hectare", 1e4, [2, 0, 0, 0, 0, 0, 0]],
  ["acre", 4046.8564224, [2, 0, 0, 0, 0, 0, 0]],
  ["gal gallon", 3.785411784e-3, volume],
  ["mph", 0.44704, [1, 0, -1, 0, 0, 0, 0]],
  ["kn knot", 1852 / 3600, [1, 0, -1, 0, 0, 0, 0]],
  ["kph", 1 / 3.6, [1, 0, -1, 0, 0, 0, 0]],
  ["atm", 101_325, pressure],
  ["psi", 6894.757293168, pressure],
  ["hp horsepower", 745.6998715822702, power],
  ["rad radian", 1, none],
  ["° deg degree", Math.PI / 180, none],
  ["% percent", 0.01, none],
  ["°C degC celsius", 1, temperature, 273.15],
  ["°F degF fahrenheit", 5 / 9, temperature, 459.67 * (5 / 9)],
];

const prefixes: readonly (readonly [symbol: string, name: string, factor: number])[] = [
  ["T", "tera", 1e12],
  ["G", "giga", 1e9],
  ["M", "mega", 1e6],
  ["k", "kilo", 1e3],
  ["h", "hecto", 1e2],
  ["d", "deci", 1e-1],
  ["c", "centi", 1e-2],
  ["m", "milli", 1e-3],
  ["µ", "micro", 1e-6],
  ["u", "micro", 1e-6],
  ["n", "nano", 1e-9],
  ["p", "pico", 1e-12],
  ["Ki", "kibi", 2 ** 10],
  ["Mi", "mebi", 2 ** 20],
  ["Gi", "gibi", 2 ** 30],
];

const irregular: Readonly<Record<string, string>> = { foot: "feet", inch: "inches", hertz: "hertz" };
const units = makeUnits();

function makeUnits(): ReadonlyMap<string, Unit> {
  const made = new Map<string, Unit>();
  // of two meanings the first counts: `min` is a minute, `cd` no centiday
  const add = (name: string, unit: Unit) => made.has(name) || made.set(name, unit);
  const words = (text: string) => text.split(" ").filter((word) => word !== "");
  const addName = (name: string, unit: Unit) => {
    add(name, unit);
    if (name.length > 2) add(irregular[name] ?? `${name}s`, unit);
  };
  for (const [names, scale, dimensions, offset] of plain) {
    const unit = { scale, dimensions, ...(offset === undefined ? {} : { offset }) };
    for (const name of words(names)) addName(name, unit);
  }
  for (const [symbols, names, scale, dimensions] of prefixed) {
    for (const symbol of words(symbols)) add(symbol, { scale, dimensions });
    for (const name of words(names)) addName(name, { scale, dimensions });
  }
  for (const [symbols, names, scale, dimensions] of prefixed) {
    for (const [short, long, factor] of prefixes) {
      const unit = { scale: scale * factor, dimensions };
      for (const symbol of words(symbols)) add(`${short}${symbol}`, unit);
      for (const name of words(names)) addName(`${long}${name}`, unit);
    }
  }
  return made;
}

const longest = 200;
const numberForm =
  /^([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|[+-]?\.\d+)(?:[eE]([+-]?\d{1,3})|\s*[×x*]\s*10\^?([+-]?\d{1,3}))?/;
const factorForm = /^([^\s*·/^\d²³⁻¹+-][^\s*·/^\d²³⁻¹+]*)(?:\^\(?([+-]?\d{1,2})\)?|(⁻?[¹²³])|([+-]?\d))?/;
const powers: Readonly<Record<string, number>> = { "¹": 1, "²": 2, "³": 3, "⁻¹": -1, "⁻²": -2, "⁻³": -3 };

/** `12.5 km/h`, `3 × 10^8 m s^-1`, `1,500 kg`; undefined where there is anything else in the text, or a unit is not known. */
export function parseQuantity(text: string): Quantity | undefined {
  const given = text.trim().replace(/\.$/, "").replaceAll("−", "-").replaceAll("μ", "µ");
  if (given.length > longest) return undefined;
  const number = numberForm.exec(given);
  if (number === null) return undefined;
  const value = Number(`${number[1].replaceAll(",", "")}e${number[2] ?? number[3] ?? 0}`);
  const unit = parseUnit(given.slice(number[0].length).trim());
  if (unit === undefined || !Number.isFinite(value)) return undefined;
  return { value: value * unit.scale + (unit.offset ?? 0), dimensions: unit.dimensions };
}

function parseUnit(text: string): Unit | undefined {
  let rest = text.replace(/\bper\b/g, "/");
  let [scale, dimensions, sign, factors, offset] = [1, none, 1, 0, 0];
  while (rest !== "") {
    const divides = /^[\s*·]*(\/)?[\s*·]*/.exec(rest)!;
    if (divides[1] !== undefined) sign = -1;
    rest = rest.slice(divides[0].length);
    const factor = factorForm.exec(rest);
    const unit = factor === null ? undefined : units.get(factor[1]);
    if (factor === null || unit === undefined) return undefined;
    const power = sign * Number(factor[2] ?? factor[4] ?? powers[factor[3]] ?? 1);
    scale *= unit.scale ** power;
    dimensions = dimensions.map((each, i) => each + power * unit.dimensions[i]) as unknown as Dimensions;
    offset = unit.offset ?? 0;
    factors += power === 1 ? 1 : 2;
    rest = rest.slice(factor[0].length);
  }
  // a degree in a product is a difference
  return { scale, dimensions, ...(factors === 1 && offset !== 0 ? { offset } : {}) };
}

/** Whether a text is the same quantity as the gold one, in whatever unit, within a relative tolerance. */
export function checkQuantity(text: string, gold: Quantity, tolerance: number): VerifierVerdict {
  const said = parseQuantity(text);
  if (said === undefined) return wrong("not a number with a known unit");
  if (said.dimensions.some((each, i) => each !== gold.dimensions[i])) return wrong("a unit of another kind");
  const isNear = Math.abs(said.value - gold.value) <= tolerance * Math.abs(gold.value);
  return isNear ? right : wrong(`${said.value} instead of ${gold.value} in SI units`);
}
