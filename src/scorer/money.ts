import { right, type VerifierVerdict, wrong } from "./verdict.ts";

/** Exact: `units` times ten to the power of minus `scale`. */
export interface Money {
  readonly currency: string;
  readonly units: bigint;
  readonly scale: number;
}

const symbols: Readonly<Record<string, string>> = {
  ...{ $: "USD", US$: "USD", C$: "CAD", A$: "AUD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW" },
  ...{ dollar: "USD", dollars: "USD", euro: "EUR", euros: "EUR", pounds: "GBP", yen: "JPY", rupees: "INR" },
};
const cents: Readonly<Record<string, string>> = { cent: "USD", cents: "USD", "¢": "USD", pence: "GBP", p: "GBP" };
const powers: Readonly<Record<string, number>> = {
  ...{ thousand: 3, k: 3, million: 6, m: 6, mn: 6, billion: 9, bn: 9, b: 9 },
};
const codes = new Set(Intl.supportedValuesOf("currency"));
const longest = 100;
const amountForm = /^(\d[\d.,'’ \u00a0\u202f]*)\s*(thousand|million|billion|mn|bn|k|m|b)?$/i;

/** `$1,234.50`, `1.234,50 €`, `USD 5`, `($3)`, `-£2`, `1.2 million euros`, `99 cents`; undefined for anything else. */
export function parseMoney(text: string): Money | undefined {
  const given = text.trim().replace(/\.$/, "");
  if (given.length > longest) return undefined;
  const isOwed = given.startsWith("(") && given.endsWith(")");
  const inner = (isOwed ? given.slice(1, -1) : given).replaceAll("−", "-").trim();
  const [isNegative, unsigned] = inner.startsWith("-") ? [true, inner.slice(1).trim()] : [false, inner];
  const named = takeCurrency(unsigned);
  if (named === undefined) return undefined;
  const [isMinus, digits] = named.rest.startsWith("-") ? [true, named.rest.slice(1)] : [false, named.rest];
  const read = amountForm.exec(digits.trim());
  const number = read === null ? undefined : parseAmount(read[1].trim());
  if (read === null || number === undefined || [isOwed, isNegative, isMinus].filter(Boolean).length > 1)
    return undefined;
  const power = (read[2] === undefined ? 0 : powers[read[2].toLowerCase()]) - (named.isCents ? 2 : 0);
  const scaled = { units: number.units * 10n ** BigInt(Math.max(0, power)), scale: number.scale - Math.min(0, power) };
  return {
    currency: named.currency,
    scale: scaled.scale,
    units: isOwed || isNegative || isMinus ? -scaled.units : scaled.units,
  };
}

function takeCurrency(text: string): { currency: string; rest: string; isCents: boolean } | undefined {
  const before = /^([A-Za-z]{0,3}[$€£¥₹₩]|[A-Za-z]{3,7}(?=[\s\d-]))/.exec(text)?.[1];
  const after = /([$€£¥₹₩¢]|[A-Za-z]{1,7})$/.exec(text)?.[1];
  const first = before === undefined ? undefined : currencyOf(before);
  const last = after === undefined ? undefined : currencyOf(after);
  // `$5 USD` names the same currency twice
  if (first !== undefined && last !== undefined && first.currency !== last.currency) return undefined;
  const found = first ?? last;
  if (found === undefined) return undefined;
  const from = first === undefined ? 0 : before!.length;
  const to = last === undefined ? text.length : text.length - after!.length;
  return { ...found, rest: text.slice(from, to).trim() };
}

function currencyOf(name: string): { currency: string; isCents: boolean } | undefined {
  if (Object.hasOwn(symbols, name)) return { currency: symbols[name], isCents: false };
  const lower = name.toLowerCase();
  if (Object.hasOwn(symbols, lower)) return { currency: symbols[lower], isCents: false };
  if (Object.hasOwn(cents, lower)) return { currency: cents[lower], isCents: true };
  return codes.has(name.toUpperCase()) ? { currency: name.toUpperCase(), isCents: false } : undefined;
}

/** Of `1.234` nobody knows whether it is more than a thousand or little more than one: it is not read. */
function parseAmount(text: string): Pick<Money, "units" | "scale"> | undefined {
  const dense = text.replace(/[ \u00a0\u202f'’](?=\d{3})/g, "");
  const forms: readonly (readonly [RegExp, string, string])[] = [
    [/^\d+$/, "", ""],
    [/^\d+\.(?:\d{1,2}|\d{4,})$/, "", "."],
    [/^\d+,\d{1,2}$/, "", ","],
    [/^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/, ",", "."],
    [/^\d{1,3}(?:\.\d{3})+,\d+$/, ".", ","],
    [/^\d{1,3}(?:\.\d{3}){2,}$/, ".", ","],
  ];
  const form = forms.find(([expression]) => expression.test(dense));
  if (form === undefined) return undefined;
  const [, thousands, point] = form;
  const [whole, fraction = ""] = (thousands === "" ? dense : dense.replaceAll(thousands, "")).split(point || "\0");
  return { units: BigInt(whole + fraction), scale: fraction.length };
}

export function checkMoney(text: string, gold: Money): VerifierVerdict {
  const said = parseMoney(text);
  if (said === undefined) return wrong("not an amount with a currency");
  if (said.currency !== gold.currency) return wrong(`${said.currency} instead of ${gold.currency}`);
  const isSame = said.units * 10n ** BigInt(gold.scale) === gold.units * 10n ** BigInt(said.scale);
  return isSame ? right : wrong("another amount");
}
