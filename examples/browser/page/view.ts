import type { SaidToken } from "./onnx-speaker.ts";

/** The element of the page with this id. */
export function element<Kind extends HTMLElement = HTMLElement>(id: string): Kind {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`The page has no ${id}.`);
  return found as Kind;
}

/** A line of the talk: who said it, and what. */
export function addLine(
  kind: "world" | "agent" | "end" | "end good",
  who: string,
  ...content: (string | Node)[]
): void {
  const line = document.createElement("li");
  line.className = kind;
  const name = document.createElement("span");
  name.className = "who";
  name.textContent = who;
  line.append(name, ...content);
  element("talk").append(line);
}

/** A token, the more coloured the more the agent hesitated; what else it might have said is told when it is pointed at. */
export function tokenSpan({ id, choices }: SaidToken, textOf: (id: number) => string): HTMLSpanElement {
  const span = document.createElement("span");
  span.className = "token";
  const share = choices.find((choice) => choice.id === id)?.share ?? 0;
  span.style.setProperty("--doubt", `${Math.round(100 * Math.sqrt(1 - share))}%`);
  span.title = choices.map((choice) => `${textOf(choice.id)} ${Math.round(100 * choice.share)}%`).join("\n");
  span.textContent = textOf(id);
  return span;
}
