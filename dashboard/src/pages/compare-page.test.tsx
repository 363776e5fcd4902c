import { afterEach, describe, expect, test } from "vitest";
import { anySeries, runAnswer, runSummary } from "../testing/fake-answers.ts";
import { fakeServer } from "../testing/fake-server.ts";
import { address, click, closePage, fill, find, showPage, texts } from "../testing/show-page.tsx";

afterEach(closePage);

const run = (id: string, config: unknown) => runAnswer({ summary: runSummary({ id }), config });
const show = async (path: string, more: Record<string, unknown> = {}) => {
  const server = fakeServer({
    "/runs": { runs: [runSummary({ id: "b" })], total: 1 },
    "/runs/a": run("a", { seed: 1, algorithm: { name: "grpo", clip: null } }),
    "/runs/b": run("b", { seed: 2, algorithm: { name: "grpo" }, tags: [] }),
    "/series": anySeries,
    ...more,
  });
  await showPage(path);
  return server;
};
const rows = (panel: number) =>
  [...document.querySelectorAll(`.panel:nth-of-type(${panel}) tbody tr`)].map((row) =>
    [...row.children].map(({ textContent }) => textContent),
  );

describe("comparing", () => {
  test("needs two runs", async () => {
    const server = await show("/compare");
    expect(texts(".empty")).toEqual(["Select at least two runs."]);
    expect(server.requests.filter((path) => path.startsWith("/series"))).toEqual([]);
  });

  test("shows what differs, absent settings included", async () => {
    await show("/compare?run=a&run=b");
    expect(rows(1)).toEqual([
      ["algorithm.clip", "null", "–"],
      ["seed", "1", "2"],
    ]);
  });

  test("of equal configurations says that they are", async () => {
    await show("/compare?run=a&run=b", { "/runs/b": run("b", { algorithm: { clip: null, name: "grpo" }, seed: 1 }) });
    expect(texts(".panel .empty")).toEqual(["The configurations are identical."]);
  });

  test.each([["text"], [null], [7], [[]]])("of a configuration that is %j does not fail", async (config) => {
    await show("/compare?run=a&run=b", { "/runs/b": run("b", config) });
    expect(texts(".panel h2")).toContain("Configuration differences");
  });

  test("shows the last values and their difference", async () => {
    const series = (id: string, values: (number | null)[]) => ({
      run: id,
      name: "rollout/reward",
      steps: values.map((_, i) => i),
      values,
      min: values,
      max: values,
      counts: values.map(() => 1),
    });
    const both = [series("a", [...new Array(18).fill(0), 0.25, 0.75]), series("b", [null, 1])];
    await show("/compare?run=a&run=b", { "/series": { series: both } });
    expect(rows(2)).toEqual([
      ["rollout/reward", "0.5", "1", "+0.5"],
      ["rollout/success", "–", "–", ""],
    ]);
  });

  test("with a run that is gone shows the problem and the other's curves", async () => {
    await show("/compare?run=a&run=gone");
    expect(texts("[role=alert]")).toEqual(["not-found There is nothing at /runs/gone."]);
    expect(document.querySelectorAll(".chart").length).toBeGreaterThan(0);
  });

  test("shows a run once, and eight at most, and says so", async () => {
    await show("/compare?run=a&run=a&run=");
    expect(texts(".chip bdi")).toEqual(["a"]);
    await show(`/compare?${Array.from({ length: 11 }, (_, i) => `run=r${i}`).join("&")}`);
    expect(texts(".chip bdi")).toHaveLength(8);
    expect(texts(".empty")).toContain("Showing the first 8 of 11 runs.");
  });

  test("adds and removes runs in the address", async () => {
    await show("/compare?run=a");
    await fill(find(".picker"), "b");
    expect(address()).toBe("/compare?run=a&run=b");
    await click(find('[aria-label="Remove a"]'));
    expect(address()).toBe("/compare?run=b");
  });
});
