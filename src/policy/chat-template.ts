import { bounds } from "../bounds.ts";
import { defined } from "../defined.ts";
import { errorText, LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { ChatInterpreter } from "./chat-interpreter.ts";
import { formatTime } from "./format-time.ts";
import { huggingFaceJinja, type TemplateEnvironment, type TemplateNode } from "./huggingface.ts";
import { TemplateTooCostly } from "./python-text.ts";
import { failingLine, whitespaceRules } from "./template-line.ts";
import type { SpecialTokens } from "./tokenizer.ts";

/** A message in the form chat templates expect: OpenAI's. What else a template reads may be there too. */
export interface ChatMessage {
  readonly role: string;
  readonly content?: unknown;
  readonly [field: string]: unknown;
}

export interface RenderChatOptions {
  /** Jinja, as in a model's tokenizer_config.json. */
  template: string;
  messages: readonly ChatMessage[];
  /** Tools as JSON schemas: `{ type: "function", function: { name, description, parameters } }`. */
  tools?: readonly unknown[];
  /** Whether the text ends with the opening of an assistant's turn. */
  addGenerationPrompt: boolean;
  /** For templates that write `bos_token` and the like. */
  specialTokens?: SpecialTokens;
  /** What `strftime_now` tells. Absent, templates see no such function, and take the date they have for that case. */
  now?: Date;
  /** Further variables, such as `enable_thinking`. */
  variables?: Readonly<Record<string, unknown>>;
}

const knownRenderChatOptions: KnownOptions<RenderChatOptions> = {
  template: true,
  messages: true,
  tools: true,
  addGenerationPrompt: true,
  specialTokens: true,
  now: true,
  variables: true,
};

/** The text a chat template makes of a conversation: that of transformers' `apply_chat_template(…, tokenize=False)`. */
export function renderChat(options: RenderChatOptions): string {
  refuseUnknownOptions("renderChat", options, knownRenderChatOptions);
  try {
    const program = parsedTemplate(options.template);
    return new ChatInterpreter(program, environmentOf(options)).run(program).value as string;
  } catch (error) {
    throw templateError(options, error);
  }
}

const parsed = new Map<string, TemplateNode>();

function parsedTemplate(template: string): TemplateNode {
  let program = parsed.get(template);
  if (program === undefined) {
    checkTemplate(template);
    program = huggingFaceJinja.parse(huggingFaceJinja.tokenize(template, whitespaceRules));
    // a run uses one or two templates; the bound is for servers that receive others in requests
    if (parsed.size >= 32) parsed.clear();
    parsed.set(template, program);
  }
  return program;
}

const manySpaces = new RegExp(`\\s{${bounds.templateSpaces}}`);

function checkTemplate(template: string): void {
  if (template.length > bounds.chatTemplateChars) {
    throw new TemplateTooCostly(`more than ${bounds.chatTemplateChars} characters`);
  }
  if (manySpaces.test(template)) throw new TemplateTooCostly(`${bounds.templateSpaces} spaces or lines in a row`);
}

class TemplateRefusal extends Error {}

function environmentOf(options: RenderChatOptions): TemplateEnvironment {
  const variables: Record<string, unknown> = {
    true: true,
    True: true,
    false: false,
    False: false,
    none: null,
    None: null,
    range,
    raise_exception: (message: unknown) => {
      throw new TemplateRefusal(String(message));
    },
    ...defined({
      strftime_now: options.now === undefined ? undefined : (format: string) => formatTime(options.now!, format),
    }),
    ...Object.fromEntries(
      Object.entries(options.specialTokens ?? {}).map(([role, token]) => [`${role}_token`, token.text]),
    ),
    messages: plainData(options.messages),
    tools: options.tools === undefined ? null : plainData(options.tools),
    documents: null,
    add_generation_prompt: options.addGenerationPrompt,
    ...options.variables,
  };
  const environment = new huggingFaceJinja.Environment();
  for (const [name, value] of Object.entries(variables)) environment.set(name, value);
  return environment;
}

// a property that is undefined is absent, as it would be in Python
function plainData(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function range(from: number, to?: number, step = 1): number[] {
  const [start, stop] = to === undefined ? [0, from] : [from, to];
  const length = Math.max(0, Math.ceil((stop - start) / step));
  if (!(length <= bounds.templateRange)) throw new TemplateTooCostly(`a range of ${length} numbers`);
  return Array.from({ length }, (_, index) => start + index * step);
}

function templateError(options: RenderChatOptions, error: unknown): LudusError {
  const message = errorText(error);
  if (error instanceof TemplateTooCostly) {
    return new LudusError("template-too-costly", {
      got: `a chat template with ${message}`,
      expected: "one that renders these messages within its bounds",
      hint: "Is the folder from someone you trust? A template is a program that runs for every prompt.",
      cause: error,
    });
  }
  // finding it takes a time that grows with the square of the length
  const isShort = options.template.length <= 32_768;
  const line = !isShort
    ? undefined
    : failingLine(options.template, (program, onComment) =>
        new ChatInterpreter(program, environmentOf(options), onComment).run(program),
      );
  const place = line === undefined ? "" : ` on line ${line}`;
  const source =
    line === undefined ? "" : ` (${JSON.stringify(options.template.split("\n")[line - 1].trim().slice(0, 80))})`;
  if (error instanceof TemplateRefusal) {
    return new LudusError("chat-refused", {
      got: `messages of the roles ${options.messages.map((entry) => entry.role).join(", ")}`,
      expected: `what the chat template accepts${place}: ${message}`,
      cause: error,
    });
  }
  const needsTime = options.now === undefined && options.template.includes("strftime_now");
  return new LudusError("template-failed", {
    got: `"${message}" from the chat template${place}${source}`,
    expected: "a Jinja template that renders these messages",
    ...defined({
      hint: needsTime ? "It tells the date: pass now, fixed for a run, so that prompts can be repeated." : undefined,
    }),
    cause: error,
  });
}
