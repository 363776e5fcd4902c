import { scriptedModel } from "../../testing/scripted-model.ts";

/** Looks up whom it was asked for with the tool `find`, and says what it was told. */
export function findingModel() {
  return scriptedModel((read) => {
    const asked = /user-\d+/.exec(read)?.[0];
    const told = /found-\d+/.exec(read)?.[0];
    if (read.includes("again and again") || told === undefined) {
      return `<tool_call>\n{"name": "find", "arguments": {"who": "${asked}"}}\n</tool_call>`;
    }
    return `${asked} is ${told}`;
  });
}
