import { createRng } from "../../random.ts";

/** Texts of tags in any order, words and noise: some well formed, most not. */
export function randomTagTexts(seed: number, count: number, names: readonly string[], extra: readonly string[] = []) {
  const rng = createRng(seed);
  const pick = <T>(items: readonly T[]): T => items[rng.integer(items.length)]!;
  const pieces = [
    ...names.flatMap((name) => [`<${name}>`, `</${name}>`]),
    "a",
    " ",
    "\n",
    "<",
    ">",
    "</",
    "{",
    "[1, 2]",
    "\\boxed{",
    "}",
    "'",
    ...extra,
  ];
  const block = () => {
    const name = pick(names);
    return `<${name}>${pick(pieces)}</${name}>`;
  };
  return Array.from({ length: count }, () => {
    if (rng.next() < 0.3)
      return names.map((name) => `<${name}>${pick(pieces)}</${name}>`).join(pick(["", "\n", pick(pieces)]));
    return Array.from({ length: rng.integer(10) }, () => (rng.next() < 0.4 ? block() : pick(pieces))).join("");
  });
}
