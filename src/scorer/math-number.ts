export interface Rational {
  numerator: bigint;
  denominator: bigint;
}

const decimal = String.raw`-?\d+(?:\.\d+)?`;
const plainForm = new RegExp(`^\\+?(${decimal})$`);
const scientificForm = new RegExp(`^(${decimal})(?:\\*10\\^\\{?(-?\\d{1,3})\\}?|[eE]([+-]?\\d{1,3}))$`);
const fractionForm = new RegExp(`^(-?)(\\d+)?\\\\frac\\{(${decimal})\\}\\{(${decimal})\\}$`);
const thousands = /^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/;

/** The exact value of a decimal, a fraction, a mixed number or a number times a power of ten; null for anything else. */
export function parseRational(text: string): Rational | null {
  const number = thousands.test(text) ? text.replaceAll(",", "") : text;
  const plain = plainForm.exec(number);
  if (plain !== null) return fromDecimal(plain[1]);
  const scientific = scientificForm.exec(number);
  if (scientific !== null) {
    const exponent = Number(scientific[2] ?? scientific[3]);
    const { numerator, denominator } = fromDecimal(scientific[1]);
    const power = 10n ** BigInt(Math.abs(exponent));
    return exponent >= 0
      ? { numerator: numerator * power, denominator }
      : { numerator, denominator: denominator * power };
  }
  const fraction = fractionForm.exec(number);
  if (fraction === null) return null;
  const [top, bottom] = [fromDecimal(fraction[3]), fromDecimal(fraction[4])];
  if (bottom.numerator === 0n) return null;
  const whole = BigInt(fraction[2] ?? "0");
  const denominator = top.denominator * bottom.numerator;
  const numerator = top.numerator * bottom.denominator + whole * denominator;
  return { numerator: fraction[1] === "-" ? -numerator : numerator, denominator };
}

export function sameRational(a: Rational, b: Rational): boolean {
  return a.numerator * b.denominator === b.numerator * a.denominator;
}

function fromDecimal(text: string): Rational {
  const [whole, digits = ""] = text.split(".");
  return { numerator: BigInt(whole + digits), denominator: 10n ** BigInt(digits.length) };
}
