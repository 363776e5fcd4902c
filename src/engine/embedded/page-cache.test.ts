import { expect, test } from "vitest";
import { tiny } from "../model/model-config.ts";
import { KernelMemory } from "./kernels/kernel-memory.ts";
import { kernelShape } from "./kernels/kernel-shape.ts";
import { PageCache, pageBytes } from "./page-cache.ts";

test("pages are shared, given back and limited", () => {
  const shape = kernelShape(tiny({ vocabularySize: 9, width: 8, headWidth: 8, layers: 1, contextLength: 32 }));
  const cache = new PageCache(shape, new KernelMemory(), { maxBytes: 3 * pageBytes(shape), maxRows: 2 });
  const pages = [cache.takePage()!, cache.takePage()!, cache.takePage()!];
  expect(new Set(pages).size).toBe(3);
  expect(cache.takePage()).toBeUndefined();
  cache.share(pages[0]);
  cache.giveBack(pages[0]);
  expect(cache.takePage()).toBeUndefined();
  cache.giveBack(pages[0]);
  expect(cache.takePage()).toBe(pages[0]);
  expect([cache.takeList(), cache.takeList(), cache.takeList()]).toEqual([
    expect.any(Number),
    expect.any(Number),
    undefined,
  ]);
});
