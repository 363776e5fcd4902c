import { z } from "zod";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import type { Message, ToolSpec } from "../../schema/message.ts";
import { isJsonObject } from "../../schema/parse-with.ts";
import type { ChatTurn } from "./chat-turn.ts";
import { jsonAnswer } from "./json-answer.ts";

const Fields = z.record(z.string(), z.unknown());

/** What a part holds is said by which field it has; one that is not known here would be lost, so it is refused. */
const Part = z.union([
  z.object({ text: z.string(), thought: z.boolean().optional() }),
  z.object({ functionCall: z.object({ id: z.string().nullish(), name: z.string(), args: Fields.nullish() }) }),
  z.object({ functionResponse: z.object({ id: z.string().nullish(), name: z.string(), response: Fields }) }),
]);

const Content = z.object({ role: z.enum(["user", "model", "function"]).nullish(), parts: z.array(Part).min(1) });

const Declaration = z.object({
  name: z.string(),
  description: z.string().default(""),
  parameters: Fields.nullish(),
  parametersJsonSchema: Fields.nullish(),
});

/** Only tools that the client runs itself. */
const Tool = z.strictObject({ functionDeclarations: z.array(Declaration) });

const GenerationConfig = z.object({
  temperature: z.number().min(0).max(2).nullish(),
  topP: z.number().gt(0).max(1).nullish(),
  topK: z.number().min(1).nullish(),
  maxOutputTokens: z.int().min(1).nullish(),
  stopSequences: z.array(z.string()).max(16).nullish(),
  candidateCount: z.int().min(1).max(128).nullish(),
  seed: z.int().nullish(),
  responseLogprobs: z.boolean().nullish(),
  logprobs: z.int().min(0).max(20).nullish(),
  responseMimeType: z.enum(["text/plain", "application/json"]).nullish(),
  responseSchema: Fields.nullish(),
  responseJsonSchema: Fields.nullish(),
});

/** What of Gemini's `generateContent` is understood. What is not is refused where it would change the answer, else ignored. */
export const GenerateContentBody = z.object({
  contents: z.array(Content).min(1),
  systemInstruction: z.object({ parts: z.array(z.object({ text: z.string() })) }).nullish(),
  tools: z.array(Tool).nullish(),
  toolConfig: z
    .object({
      functionCallingConfig: z
        .object({
          mode: z.enum(["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"]).nullish(),
          allowedFunctionNames: z.array(z.string()).nullish(),
        })
        .nullish(),
    })
    .nullish(),
  generationConfig: GenerationConfig.nullish(),
  cachedContent: z.null("nothing is cached: send the whole conversation in `contents`").optional(),
});

export type GenerateContentBody = z.infer<typeof GenerateContentBody>;

export function turnOfGemini(body: GenerateContentBody, seed: number): ChatTurn {
  const config = body.generationConfig ?? {};
  const instruction = (body.systemInstruction?.parts ?? []).map(({ text }) => text).join("");
  const system: Message[] = instruction === "" ? [] : [{ role: "system", content: instruction }];
  return {
    messages: [...system, ...turnsOf(body.contents).flatMap(messagesOf)],
    ...toolsOf(body),
    oneCall: false,
    json: jsonOf(config),
    sampling: {
      temperature: config.temperature ?? 1,
      topP: config.topP ?? undefined,
      topK: config.topK == null ? undefined : Math.floor(config.topK),
      seed: config.seed ?? seed,
      maxTokens: config.maxOutputTokens ?? undefined,
      stop: (config.stopSequences ?? []).filter((text) => text !== ""),
      alternatives: config.responseLogprobs ? (config.logprobs ?? 0) : 0,
    },
  };
}

/** A client that was streamed to sends each chunk back as a content of its own: together they are one turn of the model. */
function turnsOf(contents: GenerateContentBody["contents"]): GenerateContentBody["contents"] {
  const turns: GenerateContentBody["contents"] = [];
  for (const { role, parts } of contents) {
    const last = turns.at(-1);
    if (last?.role === "model" && role === "model") for (const part of parts) last.parts.push(part);
    else turns.push({ role, parts: [...parts] });
  }
  return turns;
}

function messagesOf({ role, parts }: z.infer<typeof Content>): Message[] {
  const content = parts.flatMap((part) => ("text" in part && part.thought !== true ? [part.text] : [])).join("");
  if (role === "model") {
    const calls = parts.flatMap((part) =>
      "functionCall" in part ? [{ name: part.functionCall.name, arguments: part.functionCall.args ?? {} }] : [],
    );
    return [{ role: "assistant", content, ...defined({ calls: calls.length === 0 ? undefined : calls }) }];
  }
  const results = parts.flatMap((part): Message[] => {
    if (!("functionResponse" in part)) return [];
    return [{ role: "tool", name: part.functionResponse.name, content: resultText(part.functionResponse.response) }];
  });
  return [...results, ...(content === "" && results.length > 0 ? [] : [{ role: "user" as const, content }])];
}

/** A response is an object. What a function gave is under `output`, unless the whole object is what it gave. */
function resultText(response: Readonly<Record<string, unknown>>): string {
  const { output, ...rest } = response;
  return typeof output === "string" && Object.keys(rest).length === 0 ? output : JSON.stringify(response);
}

function toolsOf({ tools, toolConfig }: GenerateContentBody): Pick<ChatTurn, "tools" | "choice"> {
  const { mode, allowedFunctionNames } = toolConfig?.functionCallingConfig ?? {};
  const declared = (tools ?? []).flatMap(({ functionDeclarations }) => functionDeclarations);
  if (mode === "NONE") return { tools: [], choice: "auto" };
  const specs = declared.map(({ name, description, parameters, parametersJsonSchema }): ToolSpec => {
    const schema = parametersJsonSchema ?? (parameters == null ? undefined : jsonSchemaOf(parameters));
    return { name, description, parameters: schema ?? { type: "object", properties: {} } };
  });
  if (mode !== "ANY") return { tools: specs, choice: "auto" };
  const [only, ...others] = allowedFunctionNames ?? [];
  if (only === undefined) return { tools: specs, choice: "required" };
  if (others.length === 0) return { tools: specs, choice: { name: only } };
  return { tools: specs.filter(({ name }) => allowedFunctionNames?.includes(name)), choice: "required" };
}

function jsonOf({ responseMimeType, responseSchema, responseJsonSchema }: z.infer<typeof GenerationConfig>) {
  const schema = responseJsonSchema ?? (responseSchema == null ? undefined : jsonSchemaOf(responseSchema));
  if (responseMimeType !== "application/json") {
    if (schema === undefined) return undefined;
    throw new LudusError("bad-request", {
      got: "a response schema without responseMimeType",
      expected: 'responseMimeType "application/json"',
      cause: "generationConfig.responseMimeType",
    });
  }
  return jsonAnswer(schema === undefined ? { type: "json_object" } : { type: "json_schema", schema });
}

const counts = new Set(["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"]);

/** Gemini's schemas are OpenAPI's with types in capitals and numbers of 64 bits as text. */
function jsonSchemaOf(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { nullable, propertyOrdering: _order, type, ...rest } = schema;
  const named = typeof type === "string" && type !== "TYPE_UNSPECIFIED" ? type.toLowerCase() : undefined;
  const entries = Object.entries(rest).map(([key, value]): [string, unknown] => {
    if (key === "properties" && isJsonObject(value)) {
      return [key, Object.fromEntries(Object.entries(value).map(([name, of]) => [name, schemaIn(of)]))];
    }
    if (key === "items") return [key, schemaIn(value)];
    if (key === "anyOf" && Array.isArray(value)) return [key, value.map(schemaIn)];
    return [key, counts.has(key) ? Number(value) : value];
  });
  const typed = named === undefined ? {} : { type: nullable === true ? [named, "null"] : named };
  return { ...typed, ...Object.fromEntries(entries) };
}

function schemaIn(value: unknown): unknown {
  return isJsonObject(value) ? jsonSchemaOf(value) : value;
}
