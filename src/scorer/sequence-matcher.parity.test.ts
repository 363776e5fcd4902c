import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { matchingBlocks, opcodes, sequenceRatio } from "./sequence-matcher.ts";
import { unifiedDiff } from "./unified-diff.ts";

// Runs where LUDUS_PYTHON names a Python; difflib is part of every one.
const python = process.env.LUDUS_PYTHON;

const script = `
import difflib, json, sys
answers = []
for case in json.load(sys.stdin):
    a, b, autojunk = case["a"], case["b"], case["autojunk"]
    matcher = difflib.SequenceMatcher(None, a, b, autojunk=autojunk)
    diff = difflib.unified_diff([str(x) for x in a], [str(x) for x in b], "old", "new", n=case["context"], lineterm=case["lineEnd"])
    answers.append({
        "ratio": matcher.ratio(),
        "blocks": [list(block) for block in matcher.get_matching_blocks()],
        "opcodes": [list(code) for code in matcher.get_opcodes()],
        "diff": list(diff),
    })
print(json.dumps(answers))
`;

interface Answer {
  ratio: number;
  blocks: number[][];
  opcodes: unknown[][];
  diff: string[];
}

const rng = createRng(17);

/** A sequence, and another made from it by a few edits, or an unrelated one. */
function randomCase(index: number) {
  const alphabet = 2 + rng.integer(index % 3 === 0 ? 60 : 6);
  // every fourth is long enough for autojunk
  const size = index % 4 === 0 ? 180 + rng.integer(120) : rng.integer(60);
  const random = (length: number) => Array.from({ length }, () => `é${rng.integer(alphabet)}`);
  const a = random(size);
  const b = index % 5 === 0 ? random(size) : [...a];
  for (let edit = rng.integer(8); edit > 0; edit--) {
    b.splice(rng.integer(b.length + 1), rng.integer(4), ...random(rng.integer(4)));
  }
  return { a, b, autojunk: index % 2 === 0, context: rng.integer(5), lineEnd: index % 3 === 0 ? "" : "\n" };
}

describe.runIf(python)("parity with difflib", () => {
  const cases = Array.from({ length: 400 }, (_, index) => randomCase(index));
  cases.push({ a: [], b: [], autojunk: false, context: 3, lineEnd: "" });

  test("ratio, blocks, opcodes and unified diffs", () => {
    const result = spawnSync(python!, ["-c", script], {
      input: JSON.stringify(cases),
      encoding: "utf8",
      maxBuffer: 2 ** 28,
    });
    expect(result.stderr).toBe("");
    const answers = JSON.parse(result.stdout) as Answer[];
    expect(answers).toHaveLength(cases.length);
    for (const [index, { a, b, autojunk, context, lineEnd }] of cases.entries()) {
      const answer = answers[index];
      expect(sequenceRatio(a, b, { autojunk })).toBe(answer.ratio);
      expect(matchingBlocks(a, b, { autojunk }).map((block) => [block.a, block.b, block.size])).toEqual(answer.blocks);
      expect(
        opcodes(a, b, { autojunk }).map((code) => [code.tag, code.aStart, code.aEnd, code.bStart, code.bEnd]),
      ).toEqual(answer.opcodes);
      expect(unifiedDiff(a, b, { fromFile: "old", toFile: "new", context, lineEnd })).toEqual(answer.diff);
    }
  });
});
