import { readFileSync, writeFileSync } from "node:fs";

/** Stretches of a page that a program makes: from `<!-- made: <what> -->` to `<!-- /made -->`. */
const stretch = /<!-- made: (.+?) -->\n([\s\S]*?)<!-- \/made -->/g;

export interface Made {
  readonly path: string;
  readonly what: string;
  readonly text: string;
}

export function madeIn(path: string): readonly Made[] {
  const text = readFileSync(path, "utf8");
  return Array.from(text.matchAll(stretch), ([, what, body]) => ({ path, what: what, text: body }));
}

/** Writes each stretch anew. */
export async function rewrite(path: string, make: (what: string) => string | Promise<string>): Promise<void> {
  const texts = new Map<string, string>();
  for (const { what } of madeIn(path)) texts.set(what, await make(what));
  const text = readFileSync(path, "utf8");
  const written = text.replace(
    stretch,
    (_, what: string) => `<!-- made: ${what} -->\n${texts.get(what)!}<!-- /made -->`,
  );
  if (written !== text) writeFileSync(path, written);
}
