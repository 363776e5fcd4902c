import { expect, test } from "vitest";
import { readAction } from "../environments/screen-actions.ts";
import { Episode } from "../episode.ts";
import { browserEnv } from "./browser-env.ts";
import { chromiumPages } from "./page-source.ts";
import { SiteBackend } from "./site-backend.ts";

const { signal } = new AbortController();

test("tasks are solved by coordinates from the boxes of elements", async () => {
  const env = browserEnv({
    pages: "chromium",
    actions: "computer-use",
    sites: ["shop", "tracker"],
    actionMs: 20_000,
    viewTokens: 20_000,
  });
  const seen = new Set<string>();
  for (let index = 0; seen.size < 4 && index < 200; index++) {
    const task = await env.tasks.at("train", index);
    const { kind } = task.data;
    // lists need a keyboard, which the expert does not use
    if (!["shop-price", "shop-cart", "tracker-open", "tracker-close"].includes(kind) || seen.has(kind)) continue;
    seen.add(kind);
    const episode = new Episode(env, task, { signal });
    let next = await episode.start();
    while ("role" in next) next = await episode.step(episode.expertSays() ?? "");
    const { stop, failure, scores } = await episode.finish(next);
    expect([kind, stop, failure, scores.agent.success]).toEqual([kind, "completed", undefined, true]);
  }
  expect(seen.size).toBe(4);
});

test("pages without places refuse coordinates", () => {
  expect(() => browserEnv({ actions: "computer-use" })).toThrow("chromium");
});

const logging = `<!doctype html><title>Log</title><style>* { margin: 0 } textarea { position: absolute; left: 100px; top: 200px; width: 300px; height: 100px }</style>
<textarea>one two</textarea><p style="margin-top: 2000px">End</p><script>
const log = [];
const note = (text) => { if (log.at(-1) !== text) log.push(text); };
for (const type of ["mousedown", "mouseup", "click", "dblclick", "auxclick", "contextmenu"])
  addEventListener(type, (event) => note(type + event.button + " x" + event.detail + " at " + event.clientX + "," + event.clientY));
let place = "";
addEventListener("mousemove", (event) => {
  const now = event.clientX + "," + event.clientY;
  if (now !== place) note((event.buttons ? "drag " : "move ") + now);
  place = now;
});
addEventListener("wheel", (event) => note("wheel " + event.deltaY));
for (const type of ["keydown", "keyup"]) addEventListener(type, (event) => note(type + " " + (event.ctrlKey && event.key !== "Control" ? "Control+" : "") + event.key));
</script>`;

const down = (button: number, times: number, at: string) => [
  `mousedown${button} x${times} at ${at}`,
  `mouseup${button} x${times} at ${at}`,
];
const left = (times: number, at: string) => [...down(0, times, at), `click0 x${times} at ${at}`];

test("each of the 17 actions does in a page what its name says", async () => {
  const source = chromiumPages({ browsers: 1 }, { actionMs: 10_000, maxSnapshotChars: 1 << 18, boxes: true });
  const extra = (url: URL) => (url.host === "log.test" ? { type: "text/html", body: logging } : undefined);
  const page = await source.open(new SiteBackend(1), extra);
  await page.act({ tool: "browser_navigate", url: "http://log.test/" }, signal);
  const log = async (said: object) => {
    const started = performance.now();
    await page.point!(readAction(JSON.stringify(said), "tags", "computer-use")!);
    const took = performance.now() - started;
    const events = JSON.parse(String(await page.evaluate!("JSON.stringify(log.splice(0))"))) as string[];
    return { events, took };
  };
  const does = async (action: string, given: object, ...events: string[]) =>
    expect([action, (await log({ action, ...given })).events]).toEqual([action, events]);
  const at = { coordinate: [150, 220] };
  const drag = { start_coordinate: [500, 400], coordinate: [540, 440] };
  await does("mouse_move", { coordinate: [20, 30] }, "move 20,30");
  await does("left_click", at, "move 150,220", ...left(1, "150,220"));
  // without a place it is where the cursor is
  await does(
    "right_click",
    {},
    ...down(2, 1, "150,220").slice(0, 1),
    "contextmenu2 x0 at 150,220",
    "mouseup2 x1 at 150,220",
    "auxclick2 x1 at 150,220",
  );
  await does(
    "middle_click",
    { coordinate: [600, 500] },
    "move 600,500",
    ...down(1, 1, "600,500"),
    "auxclick1 x1 at 600,500",
  );
  await does(
    "double_click",
    { coordinate: [600, 510] },
    "move 600,510",
    ...left(1, "600,510"),
    ...left(2, "600,510"),
    "dblclick0 x2 at 600,510",
  );
  await does(
    "triple_click",
    at,
    "move 150,220",
    ...left(1, "150,220"),
    ...left(2, "150,220"),
    "dblclick0 x2 at 150,220",
    ...left(3, "150,220"),
  );
  await does("type", { text: "ab" }, "keydown a", "keyup a", "keydown b", "keyup b");
  expect(await page.evaluate!("document.querySelector('textarea').value")).toBe("ab");
  await does("key", { text: "ctrl+a" }, "keydown Control", "keydown Control+a", "keyup Control+a", "keyup Control");
  const held = await log({ action: "hold_key", text: "Return", duration: 0.3 });
  expect(held.events).toEqual(["keydown Enter", "keyup Enter"]);
  expect(held.took).toBeGreaterThan(290);
  await does(
    "left_click_drag",
    drag,
    "move 500,400",
    "mousedown0 x1 at 500,400",
    "drag 510,410",
    "drag 520,420",
    "drag 530,430",
    "drag 540,440",
    "mouseup0 x1 at 540,440",
    "click0 x1 at 540,440",
  );
  await does("left_mouse_down", {}, "mousedown0 x1 at 540,440");
  await does("left_mouse_up", {}, "mouseup0 x1 at 540,440", "click0 x1 at 540,440");
  await does(
    "scroll",
    { coordinate: [640, 360], scroll_direction: "down", scroll_amount: 3 },
    "move 640,360",
    "wheel 300",
  );
  await expect.poll(() => page.evaluate!("scrollY")).toBe(300);
  const waited = await log({ action: "wait", duration: 0.4 });
  expect(waited.events).toEqual([]);
  expect(waited.took).toBeGreaterThan(390);
  await does("screenshot", {});
  await does("zoom", { region: [0, 0, 50, 50] });
  await does("cursor_position", {});
  expect(page.cursor).toEqual([640, 360]);
  await page.close();
});

test("a text policy is told the page for a screenshot, its part for a zoom, and where the cursor is", async () => {
  const env = browserEnv({
    pages: "chromium",
    actions: "computer-use",
    view: "changes",
    sites: ["shop"],
    viewTokens: 20_000,
    actionMs: 20_000,
  });
  const episode = new Episode(env, await env.tasks.at("train", 0), { signal });
  await episode.start();
  const say = async (action: object) => {
    const next = await episode.step(`<think></think><answer>${JSON.stringify(action)}</answer>`);
    return "role" in next ? next.messages.map(({ content }) => content).join("\n") : `stopped: ${next.stop}`;
  };
  expect(await say({ action: "mouse_move", coordinate: [12, 700] })).toContain("Nothing changed.");
  expect(await say({ action: "cursor_position" })).toMatch(/X=12,Y=700\n/);
  const whole = await say({ action: "screenshot" });
  const box = /link "(Log in)".*?\[box=(\d+),(\d+),(\d+),(\d+)\]/.exec(whole);
  expect(whole).toContain("heading");
  const [x, y, width, height] = box!.slice(2).map(Number);
  const part = await say({ action: "zoom", region: [x, y, x + width, y + height] });
  expect(part).toContain('link "Log in"');
  expect(part).not.toContain("heading");
  expect(await say({ action: "zoom", region: [1270, 700, 1279, 719] })).not.toContain("link");
  await episode.finish({ stop: "completed" });
});
