import { expect, test } from "vitest";
import { TerminalScreen } from "../scripts/terminal/screen.ts";
import { terminalSvg } from "../scripts/terminal/terminal-svg.ts";

const texts = (screen: TerminalScreen) => screen.lines().map((runs) => runs.map(({ text }) => text).join(""));

test("lines that are drawn again replace those that were there", () => {
  const screen = new TerminalScreen();
  screen.write("run\r\nstep 1\r\nreward 0.1\r\n");
  screen.write("\u001b[2A\u001b[Jstep 2\r\n");
  expect(texts(screen)).toEqual(["run", "step 2"]);
});

test("a sequence that comes in two pieces is one", () => {
  const screen = new TerminalScreen();
  screen.write("old\r\n\u001b[1");
  screen.write("A\u001b[Jnew\r\n");
  expect(texts(screen)).toEqual(["new"]);
});

test("colours and weights are kept apart", () => {
  const screen = new TerminalScreen();
  screen.write("a\u001b[31mb\u001b[0mc\u001b[1md\u001b[0m");
  expect(screen.lines()[0]).toEqual([
    { text: "a", style: "" },
    { text: "b", style: "red" },
    { text: "c", style: "" },
    { text: "d", style: "bold" },
  ]);
});

test("what a program wrote cannot become part of the picture", () => {
  const screen = new TerminalScreen();
  screen.write("</text><script>alert(1)</script>&");
  const svg = terminalSvg([{ seconds: 1, lines: screen.lines() }], { title: "<b>", columns: 80, rows: 4 });
  expect(svg).not.toContain("<script");
  expect(svg).not.toContain("<b>");
});
