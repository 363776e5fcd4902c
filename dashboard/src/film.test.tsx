import { afterEach, expect, test } from "vitest";
import { framesOf } from "./film.tsx";
import { groupAnswer, shownTurn, trajectoryAnswer } from "./testing/fake-answers.ts";
import { fakeServer } from "./testing/fake-server.ts";
import { button, click, closePage, showPage, texts } from "./testing/show-page.tsx";

afterEach(closePage);

const picture = "data:image/jpeg;base64,/9j/4AAQ";
const said = (text: string) => ({ text, length: text.length });
const turns = [
  shownTurn({
    text: said("click Music"),
    observation: said("forum.test/board\nlink Tips"),
    info: { isValid: true, screenshot: picture, box: "0.1 0.2 0.3 0.05", element: "link Music" },
  }),
  shownTurn({
    text: said("click Tips"),
    observation: said("forum.test/thread\nlink Tips"),
    info: { isValid: true, screenshot: picture, changes: "- 31 votes\n+ 32 votes" },
  }),
];

test("an episode with pictures is a film of pages, actions and changes", async () => {
  fakeServer({ "/runs/first/trajectories/7": trajectoryAnswer({ turns }), "/runs/first/groups/3": groupAnswer() });
  await showPage("/runs/first/trajectories/7");
  expect(texts(".film-tools span")).toEqual(["1 / 2"]);
  expect(texts(".film-action")).toEqual(["click Music"]);
  expect(document.querySelector<HTMLElement>(".film-now .film-box")?.style.width).toBe("30.00%");
  await click(button("▶"));
  expect(texts(".film-action")).toEqual(["click Tips"]);
  expect(document.querySelector(".film-now .film-box")).toBeNull();
  expect(texts(".film-changes li")).toEqual(["- 31 votes", "+ 32 votes"]);
  expect(texts(".turn .facts").join(" ")).not.toContain("base64");
});

test("an episode without pictures has no film", async () => {
  fakeServer({ "/runs/first/trajectories/7": trajectoryAnswer({}), "/runs/first/groups/3": groupAnswer() });
  await showPage("/runs/first/trajectories/7");
  expect(document.querySelector(".film")).toBeNull();
});

test("what is no picture is not shown as one", () => {
  for (const screenshot of ["javascript:alert(1)", "data:text/html;base64,AAAA", "http://x.test/a.jpg", 5, ""])
    expect(framesOf([shownTurn({ info: { screenshot } })])).toEqual([]);
  for (const box of ["", "1 2 3", "a b c d", "NaN 0 0 0", "0 0 1e9 1"])
    expect(framesOf([shownTurn({ info: { screenshot: picture, box } })])[0].box).toBeUndefined();
});
