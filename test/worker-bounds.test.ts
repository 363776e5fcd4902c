import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { bounds } from "../src/bounds.ts";

test("the Python worker has the same bounds", () => {
  const source = readFileSync("worker/ludus_worker/model_file.py", "utf8");
  const found = Array.from(source.matchAll(/^([a-z_]+) = ([\d *]+)$/gm), ([, name, value]) => [
    name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    value
      .split(/ (?=\*)|(?<=\*) /)
      .join("")
      .split(/(?<!\*)\*(?!\*)/)
      .reduce((product, part) => {
        const [base, power = "1"] = part.split("**");
        return product * Number(base) ** Number(power);
      }, 1),
  ]);
  expect(found).toHaveLength(7);
  for (const [name, value] of found) expect(bounds, String(name)).toHaveProperty(String(name), value);
});
