import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as ludus from "../src/index.ts";

// The names a user can import are a decision. Changed on purpose? `npm test -- public-surface -u`, and say so in the changelog.
const names = exportedNames(readFileSync("src/index.ts", "utf8"));

test("the public names are the reviewed ones", async () => {
  await expect(names.map(({ kind, name }) => `${kind} ${name}\n`).join("")).toMatchFileSnapshot("public-surface.txt");
});

test("every exported value is one of them", () => {
  const values = names.filter(({ kind }) => kind === "value").map(({ name }) => name);
  expect(Object.keys(ludus).sort()).toEqual(values.sort());
});

/** `index.ts` holds only named exports from other files, so their text is enough, types included. */
function exportedNames(text: string) {
  const statements = text.matchAll(/^export (type )?\{([^}]*)\} from "[^"]+";$/gm);
  const all = Array.from(statements).flatMap(([, typeOnly, list]) =>
    list
      .split(",")
      .map((entry) => entry.trim())
      .filter((entry) => entry !== "")
      .map((entry) => ({
        kind: typeOnly || entry.startsWith("type ") ? ("type" as const) : ("value" as const),
        name: entry.replace(/^type /, "").replace(/^.* as /, ""),
      })),
  );
  return all.sort((a, b) => (`${a.kind} ${a.name}` < `${b.kind} ${b.name}` ? -1 : 1));
}
