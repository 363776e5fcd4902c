import { expect, test } from "vitest";
import { chromiumPages } from "./page-source.ts";
import { walkBoth } from "./testing/walk-both.ts";

test.each(["ludus", "playwright"] as const)(
  "pages without a browser are told as Chromium's are, read by %s",
  async (reader) => {
    const source = chromiumPages({ browsers: 1 }, { actionMs: 10_000, maxSnapshotChars: 1 << 20, reader });
    const walks = await Promise.all(
      Array.from({ length: 9 }, (_, seed) => walkBoth(source, seed, 40, new AbortController().signal)),
    );
    expect(walks).toEqual(walks.map(() => ({ steps: 40, same: 40 })));
  },
);
