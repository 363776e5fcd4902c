import { expect, test } from "vitest";
import { LudusError } from "../errors.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";
import { webArena } from "./web-arena.ts";

const state = { url: "http://shop/order/7/", page: "Order <b>7</b> &amp; more" };

test("the product of what applies", async () => {
  const reward = webArena<{ answer?: string; url?: string; page?: string }, typeof state | undefined>({
    answers: ({ answer }) => (answer === undefined ? undefined : { must_include: [answer] }),
    url: ({ task, state }) => (task.url === undefined ? undefined : { visited: state!.url, reference: task.url }),
    html: ({ task, state }) =>
      task.page === undefined
        ? undefined
        : [{ url: "last", locator: "", content: state!.page, required_contents: { must_include: [task.page] } }],
  });
  const totalOf = async (task: { answer?: string; url?: string; page?: string }) =>
    (await reward(fakeEpisode(task, ["it costs 12 euros"], { state }))).total;
  expect(await totalOf({ answer: "12" })).toBe(1);
  expect(await totalOf({ answer: "12", url: "http://shop/order/7", page: "& more" })).toBe(1);
  expect(await totalOf({ answer: "12", url: "http://shop/order/8" })).toBe(0);
  expect(await totalOf({ answer: "12", page: "elsewhere" })).toBe(0);
  // judged by nothing, nothing is proven
  expect(await totalOf({})).toBe(0);
});

test("a judge is asked last, and must be there", async () => {
  let asked = 0;
  const options = { answers: () => ({ fuzzy_match: ["twelve euros"] }), intent: () => "What does it cost?" };
  const judge = async ({ intent, reference }: { intent: string; reference: string }) => {
    asked++;
    return intent === "What does it cost?" && reference === "twelve euros" ? 1 : 0;
  };
  expect((await webArena({ ...options, judge })(fakeEpisode({}, ["12"]))).total).toBe(1);
  const lost = webArena({ ...options, judge, url: () => ({ visited: "a", reference: "b" }) });
  expect((await lost(fakeEpisode({}, ["12"]))).total).toBe(0);
  expect(asked).toBe(1);
  await expect(webArena(options)(fakeEpisode({}, ["12"]))).rejects.toThrow(LudusError);
});
