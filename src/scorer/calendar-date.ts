import { right, type VerifierVerdict, wrong } from "./verdict.ts";

/** Which number of `3/4/2024` is the day. Without it only those are read that can mean one date. */
export type DateOrder = "day-first" | "month-first";

const months = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const fullMonths = "january february march april may june july august september october november december".split(" ");
const weekday = /^(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,?\s+/i;
const longest = 80;

/** A date of the Gregorian calendar in one of the usual spellings, as `2024-03-31`; undefined for anything else. */
export function parseDate(text: string, order?: DateOrder): string | undefined {
  const given = text.trim();
  if (given.length > longest) return undefined;
  const spelt = given.replace(/\.$/, "").replace(weekday, "");
  const iso = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:T[\d:.]+(?:Z|[+-]\d{2}:?\d{2})?)?$/.exec(spelt);
  if (iso !== null) return toIso(iso[1], Number(iso[2]), iso[3]);
  const dayFirst = /^(\d{1,2})(?:st|nd|rd|th)?(?:\s+of)?[\s-]+([a-z]{3,9})\.?,?[\s-]+(\d{4})$/i.exec(spelt);
  if (dayFirst !== null) return toIso(dayFirst[3], monthOf(dayFirst[2]), dayFirst[1]);
  const monthFirst = /^([a-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})$/i.exec(spelt);
  if (monthFirst !== null) return toIso(monthFirst[3], monthOf(monthFirst[1]), monthFirst[2]);
  const numbers = /^(\d{1,2})([/.-])(\d{1,2})\2(\d{4})$/.exec(spelt);
  return numbers === null ? undefined : ofNumbers(Number(numbers[1]), Number(numbers[3]), numbers[4], order);
}

function ofNumbers(first: number, second: number, year: string, order: DateOrder | undefined): string | undefined {
  const dayFirst = toIso(year, second, String(first));
  const monthFirst = toIso(year, first, String(second));
  if (order === "day-first") return dayFirst;
  if (order === "month-first") return monthFirst;
  if (dayFirst !== undefined && monthFirst !== undefined) return dayFirst === monthFirst ? dayFirst : undefined;
  return dayFirst ?? monthFirst;
}

function monthOf(name: string): number {
  const lower = name.toLowerCase();
  const full = fullMonths.indexOf(lower);
  return 1 + (full === -1 ? months.indexOf(lower === "sept" ? "sep" : lower) : full);
}

function toIso(year: string, month: number, day: string): string | undefined {
  const [y, d] = [Number(year), Number(day)];
  const isLeap = (y % 4 === 0 && y % 100 !== 0) || y % 400 === 0;
  const days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  if (days === undefined || d < 1 || d > days) return undefined;
  return `${year}-${String(month).padStart(2, "0")}-${String(d).padStart(2, "0")}`;
}

export function checkDate(text: string, gold: string, order?: DateOrder): VerifierVerdict {
  const said = parseDate(text, order);
  if (said === undefined) return wrong("not a date, or one of two");
  return said === gold ? right : wrong(`${said} instead of ${gold}`);
}
