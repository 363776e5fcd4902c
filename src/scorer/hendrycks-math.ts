/**
 * Whether two answers are the same text after what MATH (Hendrycks et al., arXiv 2103.03874) removes and rewrites: `is_equiv` of its
 * released code. Nothing is computed: `0.50` and `\frac{1}{2}` differ, as they do there.
 */
export function hendrycksEqual(said: string | null, gold: string | null): boolean {
  if (said === null || gold === null) return said === gold;
  if (said.length > longest) return said === gold;
  return normalized(said) === normalized(gold);
}

const longest = 2_000;

function normalized(text: string): string {
  let value = text.replaceAll("\n", "").replaceAll("\\!", "").replaceAll("\\\\", "\\");
  value = value.replaceAll("tfrac", "frac").replaceAll("dfrac", "frac");
  value = value.replaceAll("\\left", "").replaceAll("\\right", "");
  value = value.replaceAll("^{\\circ}", "").replaceAll("^\\circ", "").replaceAll("\\$", "");
  value = withoutUnits(value);
  value = value.replaceAll("\\%", "").replaceAll(" .", " 0.").replaceAll("{.", "{0.");
  if (value === "") return value;
  if (value.startsWith(".")) value = `0${value}`;
  const sides = value.split("=");
  if (sides.length === 2 && sides[0].length <= 2) value = sides[1];
  value = bracedFractions(bracedRoots(value).replaceAll(" ", ""));
  if (value === "0.5") return "\\frac{1}{2}";
  return slashFraction(value);
}

/** `5\text{ cm}`: in MATH, units come in `\text{ `. */
function withoutUnits(value: string): string {
  const parts = value.split("\\text{ ");
  return parts.length === 2 ? parts[0] : value;
}

/** `\sqrt3` as `\sqrt{3}`. */
function bracedRoots(value: string): string {
  const [first, ...rest] = value.split("\\sqrt");
  return rest.reduce((made, part) => {
    return part.startsWith("{") || part === "" ? `${made}\\sqrt${part}` : `${made}\\sqrt{${part[0]}}${part.slice(1)}`;
  }, first);
}

/** `\frac12` as `\frac{1}{2}`; where a part is too short to hold both, the whole text stays as it is. */
function bracedFractions(value: string): string {
  const [first, ...rest] = value.split("\\frac");
  let made = first;
  for (const part of rest) {
    made += "\\frac";
    if (part.startsWith("{")) {
      made += part;
      continue;
    }
    if (part.length < 2) return value;
    const [a, b] = [part[0], part[1]];
    made += b === "{" ? `{${a}}${b}${part.slice(2)}` : `{${a}}{${b}}${part.slice(2)}`;
  }
  return made;
}

/** `3/4` as `\frac{3}{4}`, whole numbers alone. */
function slashFraction(value: string): string {
  const parts = value.split("/");
  if (parts.length !== 2 || !parts.every((part) => /^-?\d+$/.test(part))) return value;
  const [a, b] = parts.map((part) => String(BigInt(part)));
  return value === `${a}/${b}` ? `\\frac{${a}}{${b}}` : value;
}
