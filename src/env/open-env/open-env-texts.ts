import { parseBoundedJson } from "../../bounded-json.ts";
import { errorText } from "../../errors.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

/** What a policy's words are as an action, or what is wrong with them. */
export type ReadAction = { readonly action: JsonObject } | { readonly problem: string };

const notContent = ["metadata", "type", "tool_name", "arguments"];
const scalars = ["string", "integer", "number", "boolean"];

/**
 * How an answer becomes an action, by the schema of actions: where there is one field to fill, the answer fills it; otherwise the answer
 * is the action, in JSON.
 */
export function actionReader(schema: JsonObject): { read(answer: string): ReadAction; readonly instructions?: string } {
  const properties = Object.entries(isObject(schema.properties) ? schema.properties : {}).filter(
    ([name]) => !notContent.includes(name),
  );
  const required = Array.isArray(schema.required) ? schema.required : [];
  const needed = properties.filter(([name]) => required.includes(name));
  const [only, ...others] = needed.length > 0 ? needed : properties;
  const type = only !== undefined && isObject(only[1]) ? only[1].type : undefined;
  if (only !== undefined && others.length === 0 && typeof type === "string" && scalars.includes(type)) {
    return { read: (answer) => readScalar(only[0], type, answer) };
  }
  return {
    read: readJson,
    instructions: `Act with one JSON object and nothing else. Its JSON Schema:\n${JSON.stringify(schema)}`,
  };
}

function readScalar(field: string, type: string, answer: string): ReadAction {
  const text = answer.trim();
  if (type === "string") return { action: { [field]: answer } };
  if (type === "boolean") {
    if (text === "true" || text === "false") return { action: { [field]: text === "true" } };
    return { problem: "expected true or false" };
  }
  const value = Number(text);
  const isRight = text !== "" && Number.isFinite(value) && (type === "number" || Number.isInteger(value));
  return isRight
    ? { action: { [field]: value } }
    : { problem: `expected ${type === "integer" ? "a whole" : "a"} number` };
}

function readJson(answer: string): ReadAction {
  try {
    const action = parseBoundedJson(answer);
    return isObject(action) ? { action } : { problem: "expected a JSON object" };
  } catch (error) {
    return { problem: `expected a JSON object: ${errorText(error)}` };
  }
}

/** `text` where there is one; the one field of an observation that has one; otherwise a line for each that says something. */
export function observationText(observation: JsonObject): string {
  if (typeof observation.text === "string") return observation.text;
  const fields = Object.entries(observation).filter(
    ([name, value]) => name !== "metadata" && value !== null && value !== undefined && value !== "",
  );
  if (fields.length === 1) return valueText(fields[0][1]);
  return fields.map(([name, value]) => `${name}: ${valueText(value)}`).join("\n");
}

export function valueText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What a tool answered: the data or the texts of a result of MCP, or the result itself. */
export function toolText(result: unknown): string {
  if (!isObject(result)) return result === null || result === undefined ? "" : valueText(result);
  if (result.data !== null && result.data !== undefined) return valueText(result.data);
  if (!Array.isArray(result.content)) return valueText(result);
  const texts = result.content.flatMap((part) => (isObject(part) && typeof part.text === "string" ? [part.text] : []));
  return texts.join("\n");
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
