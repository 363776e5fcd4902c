import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4Usage,
  SharedV4Warning,
} from "@ai-sdk/provider";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import type { Message, ToolCall } from "../schema/message.ts";
import { type LoadOptions, loadServedModel } from "./load-served-model.ts";
import type { Reply } from "./model/answer-turn.ts";
import type { ChatTurn, Told } from "./model/chat-turn.ts";
import { jsonAnswer } from "./model/json-answer.ts";
import { type Answered, accept, newId, randomSeed } from "./model/model-request.ts";
import { toolArguments } from "./model/openai-request.ts";
import type { ServedModel } from "./model/served-model.ts";
import { Teller } from "./model/teller.ts";

/** A policy as a model of Vercel's AI SDK. It holds the weights until it is closed. */
export interface LudusModel extends LanguageModelV4 {
  close(): Promise<void>;
}

/**
 * A run's newest checkpoint, one of its checkpoints or any model folder, for `generateText`, `streamText` and agents of Vercel's
 * AI SDK, in this process and without a server:
 *
 *     const model = await ludus("runs/first");
 *     const { text } = await generateText({ model, prompt: "Which tea is green?" });
 *     await model.close();
 */
export async function ludus(path: string, options: LoadOptions = {}): Promise<LudusModel> {
  const model = await loadServedModel(path, options);
  return { ...languageModel(model), close: () => model.engine.close() };
}

/** The same for a model that is loaded already, and stays open. */
export function languageModel(model: ServedModel): LanguageModelV4 {
  const handler = { model, rollouts: undefined, now: () => 0, load: { count: 0, most: Number.POSITIVE_INFINITY } };
  const ask = (options: LanguageModelV4CallOptions, onTold?: (told: Told) => Promise<void>): Promise<Answered> => {
    const signal = options.abortSignal ?? new AbortController().signal;
    return accept(handler, turnOf(options), 1, undefined)({ signal, onTold });
  };
  return {
    specificationVersion: "v4",
    provider: "ludus",
    modelId: model.name,
    supportedUrls: {},
    async doGenerate(options) {
      const answered = await ask(options);
      return { content: contentOf(answered.replies[0]), ...endOf(answered), warnings: warningsOf(options) };
    },
    async doStream(options) {
      return { stream: streamOf(options, ask) };
    },
  };
}

function streamOf(
  options: LanguageModelV4CallOptions,
  ask: (options: LanguageModelV4CallOptions, onTold: (told: Told) => Promise<void>) => Promise<Answered>,
): ReadableStream<LanguageModelV4StreamPart> {
  return new ReadableStream({
    async start(controller) {
      const send = (part: LanguageModelV4StreamPart) => controller.enqueue(part);
      const text = new StreamedText(send);
      const teller = new Teller({
        text: async (delta) => text.add(delta),
        async call(call) {
          text.end();
          send(toolCall(call));
        },
      });
      send({ type: "stream-start", warnings: warningsOf(options) });
      try {
        const answered = await ask(options, teller.hear);
        await teller.hear(answered.replies[0]);
        text.end();
        send({ type: "finish", ...endOf(answered) });
      } catch (error) {
        send({ type: "error", error });
      }
      controller.close();
    },
  });
}

/** Text between a start and an end, each told once. */
class StreamedText {
  readonly #send: (part: LanguageModelV4StreamPart) => void;
  #open: string | undefined;

  constructor(send: (part: LanguageModelV4StreamPart) => void) {
    this.#send = send;
  }

  add(delta: string): void {
    if (this.#open === undefined) {
      this.#open = newId("text-");
      this.#send({ type: "text-start", id: this.#open });
    }
    this.#send({ type: "text-delta", id: this.#open, delta });
  }

  end(): void {
    if (this.#open !== undefined) this.#send({ type: "text-end", id: this.#open });
    this.#open = undefined;
  }
}

function turnOf(options: LanguageModelV4CallOptions): ChatTurn {
  const choice = options.toolChoice ?? { type: "auto" };
  const functions = (options.tools ?? []).flatMap((tool) => (tool.type === "function" ? [tool] : []));
  const { responseFormat: format } = options;
  const schema = format?.type === "json" ? (format.schema as Record<string, unknown> | undefined) : undefined;
  return {
    messages: options.prompt.flatMap(messagesOf),
    tools:
      choice.type === "none"
        ? []
        : functions.map(({ name, description = "", inputSchema }) => {
            return { name, description, parameters: inputSchema as Record<string, unknown> };
          }),
    choice: choice.type === "tool" ? { name: choice.toolName } : choice.type === "required" ? "required" : "auto",
    oneCall: false,
    json:
      format?.type !== "json"
        ? undefined
        : jsonAnswer(schema === undefined ? { type: "json_object" } : { type: "json_schema", schema }),
    sampling: {
      temperature: options.temperature ?? 1,
      topP: options.topP,
      topK: options.topK,
      maxTokens: options.maxOutputTokens,
      stop: (options.stopSequences ?? []).filter((text) => text !== ""),
      seed: options.seed ?? randomSeed(),
      alternatives: 0,
    },
  };
}

function messagesOf(message: LanguageModelV4Message): Message[] {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }];
    case "user":
      return [{ role: "user", content: message.content.map(textOf).join("") }];
    case "assistant": {
      const calls = message.content.flatMap((part) => (part.type === "tool-call" ? [callOf(part)] : []));
      const said = message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
      return [
        { role: "assistant", content: said.join(""), ...defined({ calls: calls.length > 0 ? calls : undefined }) },
      ];
    }
    default:
      return message.content.flatMap((part): Message[] =>
        part.type === "tool-result" ? [{ role: "tool", name: part.toolName, content: outputText(part.output) }] : [],
      );
  }
}

function callOf({ toolName, input }: { toolName: string; input: unknown }): ToolCall {
  const given = typeof input === "string" ? toolArguments(input) : toolArguments(JSON.stringify(input) ?? "");
  return { name: toolName, arguments: given };
}

function textOf(part: { type: string; text?: string }): string {
  if (part.type === "text") return part.text ?? "";
  throw new LudusError("bad-request", {
    got: `a part of type "${part.type}"`,
    expected: "text: the policy reads no more",
  });
}

function outputText(output: LanguageModelV4ToolResultOutput): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value;
    case "json":
    case "error-json":
      return JSON.stringify(output.value);
    case "execution-denied":
      return output.reason ?? "The call was denied.";
    default:
      return output.value.map((part) => textOf(part)).join("");
  }
}

function contentOf({ thought, content, calls }: Reply): LanguageModelV4Content[] {
  return [
    ...(thought === undefined ? [] : [{ type: "reasoning" as const, text: thought }]),
    ...(content === "" ? [] : [{ type: "text" as const, text: content }]),
    ...calls.map(toolCall),
  ];
}

function toolCall({ name, arguments: given }: ToolCall) {
  return { type: "tool-call" as const, toolCallId: newId("call_"), toolName: name, input: JSON.stringify(given) };
}

const finishes = { stop: "stop", length: "length", calls: "tool-calls" } as const;

function endOf({ promptTokens, replies: [{ tokens, finish }] }: Answered) {
  const usage: LanguageModelV4Usage = {
    inputTokens: { total: promptTokens, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: tokens.length, text: undefined, reasoning: undefined },
  };
  return { usage, finishReason: { unified: finishes[finish], raw: finish } };
}

/** What was asked for and has no effect. */
function warningsOf(options: LanguageModelV4CallOptions): SharedV4Warning[] {
  const ignored = (["presencePenalty", "frequencyPenalty"] as const).filter((name) => options[name] !== undefined);
  const foreign = (options.tools ?? []).flatMap((tool) => (tool.type === "function" ? [] : [`tool ${tool.id}`]));
  return [...ignored, ...foreign].map((feature) => ({ type: "unsupported", feature }));
}
