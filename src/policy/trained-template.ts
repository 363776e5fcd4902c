import { z } from "zod";
import { LudusError } from "../errors.ts";
import type { ToolSpec } from "../schema/message.ts";
import type { CallFormat } from "./call-format.ts";
import { jsonSpecs } from "./formats/tool-lines.ts";
import { jinjaText } from "./jinja-text.ts";

/** How a policy was trained to read and write: the renderer's kind and the name of the call format. */
export interface TemplateNote {
  readonly renderer: "compact" | "chat";
  readonly format: string;
}

export interface TrainedTemplateOptions {
  readonly renderer: TemplateNote["renderer"];
  readonly format: CallFormat;
  /** Jinja that writes messages once calls are words and instructions are in the system message. */
  readonly body: string;
  /** Whether `body` has a place for what tools answer. */
  readonly hasToolTurns: boolean;
  /** What the renderer gives the template besides messages and tools. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

const Note = z.object({ renderer: z.enum(["compact", "chat"]), format: z.string() });
const opening = "{#- ludus ";
const bodyMark = "{#- what follows writes the messages -#}\n";

/**
 * A chat template that renders a conversation as it was in training, for programs that know only `apply_chat_template`: the
 * instructions of the call format are in the system message, calls are written in the format, and the rest is the renderer's own.
 * What an assistant's `content` says is taken word for word.
 */
export function trainedTemplate(options: TrainedTemplateOptions): string {
  const { renderer, format, body, hasToolTurns, variables = {} } = options;
  const { setup, tellsTools } = instructions(format);
  const set = Object.entries(variables).map(([name, value]) => `{%- set ${name} = ${JSON.stringify(value)} %}\n`);
  return [
    `${opening}${JSON.stringify({ renderer, format: format.name })} -#}\n`,
    "{%- set ludus = namespace(messages=messages, read=[], instructions='', text='', call='') %}\n",
    ...set,
    setup,
    readMessages(format, hasToolTurns),
    "{%- set messages = ludus.read %}\n",
    tellsTools ? "{%- set tools = none %}\n" : "",
    bodyMark,
    bodyOf(body),
  ].join("");
}

/** What a template says about the training it comes from; undefined where it is another program's. */
export function templateNote(template: string | undefined): TemplateNote | undefined {
  if (template?.startsWith(opening) !== true) return undefined;
  try {
    return Note.parse(JSON.parse(template.slice(opening.length, template.indexOf(" -#}"))));
  } catch (cause) {
    throw new LudusError("bad-template-note", {
      got: template.slice(0, 120),
      expected: `${opening}{"renderer": "compact" | "chat", "format": "…"} -#}`,
      hint: "Export the model again, or remove the first line of chat_template.jinja.",
      cause,
    });
  }
}

/** The part of a trained template that writes messages; any other template as it is. */
export function bodyOf(template: string): string {
  const at = template.startsWith(opening) ? template.indexOf(bodyMark) : -1;
  return at < 0 ? template : template.slice(at + bodyMark.length);
}

/** Finds where a format tells the tools by letting it tell some that nobody has. */
function instructions(format: CallFormat): { readonly setup: string; readonly tellsTools: boolean } {
  const tool = (name: string): ToolSpec => ({ name, description: "d", parameters: { type: "object" } });
  const probes = [tool("ludus-probe-a"), tool("ludus-probe-b")];
  const [bare, told] = [format.describe([]), format.describe(probes)];
  const lines = jsonSpecs(probes);
  const at = told.indexOf(lines);
  const [before, after] = at < 0 ? [told, ""] : [told.slice(0, at), told.slice(at + lines.length)];
  const each = ["name", "description", "parameters"].map((key) => `'"${key}": ' + (spec.${key} | tojson)`);
  const list =
    at < 0
      ? ""
      : `    {%- for tool in tools %}
        {%- set spec = tool.function or tool %}
        {%- set ludus.instructions = ludus.instructions + '{' + ${each.join(" + ', ' + ")} + '}' %}
        {%- if not loop.last %}
            {%- set ludus.instructions = ludus.instructions + '\\n' %}
        {%- endif %}
    {%- endfor %}
    {%- set ludus.instructions = ludus.instructions + ${jinjaText(after)} %}
`;
  if (bare === "" && told === "") return { setup: "", tellsTools: false };
  const setup = `{%- if tools %}
    {%- set ludus.instructions = ${jinjaText(before)} %}
${list}{%- else %}
    {%- set ludus.instructions = ${jinjaText(bare)} %}
{%- endif %}
{%- if ludus.instructions %}
    {%- if messages and messages[0].role == 'system' %}
        {%- if ludus.instructions not in messages[0].content %}
            {%- set ludus.text = messages[0].content + '\\n\\n' + ludus.instructions %}
            {%- set ludus.messages = [{'role': 'system', 'content': ludus.text}] + messages[1:] %}
        {%- endif %}
    {%- else %}
        {%- set ludus.messages = [{'role': 'system', 'content': ludus.instructions}] + messages %}
    {%- endif %}
{%- endif %}
`;
  return { setup, tellsTools: told !== "" };
}

/** Calls as words, and what tools answered as the user's words where the body has no place for it. */
function readMessages({ name, template }: CallFormat, hasToolTurns: boolean): string {
  const { write, separator } = template ?? {
    write: `{{- raise_exception('the format ${name} has no way to write a tool call') }}\n`,
    separator: "",
  };
  const toolTurn = hasToolTurns
    ? ""
    : `    {%- elif message.role == 'tool' %}
        {%- set ludus.text = '<tool_response>\\n' + message.content + '\\n</tool_response>' %}
        {%- if ludus.read and ludus.read[-1].role == 'user' %}
            {%- set ludus.text = ludus.read[-1].content + '\\n' + ludus.text %}
            {%- set ludus.read = ludus.read[:-1] %}
        {%- endif %}
        {%- set ludus.read = ludus.read + [{'role': 'user', 'content': ludus.text}] %}
`;
  return `{%- for message in ludus.messages %}
    {%- if message.role == 'assistant' and message.tool_calls %}
        {%- set ludus.text = message.content or '' %}
        {%- for tool_call in message.tool_calls %}
            {%- set call = tool_call.function or tool_call %}
${write}            {%- set ludus.text = ludus.text + (${jinjaText(separator)} if ludus.text else '') + ludus.call %}
        {%- endfor %}
        {%- set ludus.read = ludus.read + [{'role': 'assistant', 'content': ludus.text}] %}
${toolTurn}    {%- else %}
        {%- set ludus.read = ludus.read + [message] %}
    {%- endif %}
{%- endfor %}
`;
}

export interface CompactBodyOptions {
  /** The text of the token that starts the policy's turn, and of the one that ends it. */
  readonly opening: string;
  readonly eos: string;
}

/** What `compactRenderer` writes. */
export function compactBody({ opening: open, eos }: CompactBodyOptions): string {
  return `{%- for message in messages %}
    {%- if message.role == 'assistant' %}
        {{- ${jinjaText(open)} + message.content + ${jinjaText(eos)} }}
    {%- else %}
        {%- if not loop.first and messages[loop.index0 - 1].role != 'assistant' %}
            {{- '\\n' }}
        {%- endif %}
        {{- message.content }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- ${jinjaText(open)} }}
{%- endif %}
`;
}
