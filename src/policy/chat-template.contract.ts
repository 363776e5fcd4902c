import type { ChatMessage } from "./chat-template.ts";

// Conversations and templates for the tests of chat-template.ts and for the comparison with transformers.

export interface ChatCase {
  name: string;
  /** The default template where absent. */
  template?: string;
  messages: ChatMessage[];
  tools?: unknown[];
  addGenerationPrompt: boolean;
  variables?: Record<string, unknown>;
}

/** In the manner of Qwen 2.5: a standard system message, tool answers joined into one user turn. */
export const qwenLikeTemplate = `{%- set first = messages[0] %}
{{- '<|im_start|>system\\n' }}
{%- if first['role'] == 'system' %}{{- first['content'] }}{%- else %}{{- 'You are helpful.' }}{%- endif %}
{%- if tools %}
  {{- '\\n\\n# Tools\\n' }}
  {%- for tool in tools %}{{- tool | tojson ~ '\\n' }}{%- endfor %}
{%- endif %}
{{- '<|im_end|>\\n' }}
{%- for message in messages %}
  {%- if message.role == 'user' or (message.role == 'system' and not loop.first) or (message.role == 'assistant' and not message.tool_calls) %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
  {%- elif message.role == 'assistant' %}
    {{- '<|im_start|>assistant' }}
    {%- if message.content %}{{- '\\n' + message.content }}{%- endif %}
    {%- for call in message.tool_calls %}
      {%- if call.function is defined %}{%- set call = call.function %}{%- endif %}
      {{- '\\n<tool_call>\\n{"name": "' ~ call.name ~ '", "arguments": ' ~ (call.arguments | tojson) ~ '}\\n</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
  {%- elif message.role == 'tool' %}
    {%- if loop.index0 == 0 or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{%- endif %}
    {{- '\\n<tool_response>\\n' }}{{- message.content }}{{- '\\n</tool_response>' }}
    {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{%- endif %}
  {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}`;

/** In the manner of Llama 3.1: headers, tools as indented JSON, booleans and lists written out. */
export const llamaLikeTemplate = `{%- if not strict is defined %}{%- set strict = false %}{%- endif %}
{{- bos_token or '' }}
{%- set ns = namespace(system='', count=0) %}
{%- if messages[0].role == 'system' %}
    {%- set ns.system = messages[0].content | trim %}
    {%- set messages = messages[1:] %}
{%- endif %}
{{- "[system]\\n" ~ ns.system ~ " strict=" ~ strict ~ "\\n" }}
{%- if tools is not none %}
    {%- for t in tools %}
        {{- t | tojson(indent=4) }}
        {{- "\\n\\n" }}
    {%- endfor %}
{%- endif %}
{#- every turn #}
{% for message in messages %}
    {%- set ns.count = ns.count + 1 %}
    {{- '[' + message.role + ' ' }}{{ ns.count }}{{ '/' ~ loop.length ~ ']' }}
    {%- if message.tool_calls is defined and message.tool_calls %}
{% for call in message.tool_calls %}
{{ call.function.name }}({% for key, value in call.function.arguments.items() %}{{ key }}={{ value }}{{ ", " if not loop.last }}{% endfor %})
{% endfor %}
    {%- else %}
        {{- '\\n' + (message.content | trim) + eos_token }}
    {%- endif %}
{% endfor %}
{%- if add_generation_prompt %}{{ '[assistant]\\n' }}{% endif %}
`;

/** In the manner of Qwen 3: earlier thoughts are dropped with split and strip. */
export const thinkingTemplate = `{%- for message in messages %}
{%- if message.role == 'assistant' and '</think>' in message.content and not loop.last %}
{{- '<|im_start|>assistant\\n' + message.content.split('</think>')[-1].lstrip('\\n') + '<|im_end|>\\n' }}
{%- elif message.role == 'assistant' and '</think>' in message.content %}
{%- set thought = message.content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
{{- '<|im_start|>assistant\\n<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' + message.content.split('</think>')[-1].lstrip('\\n') }}
{%- else %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}
{%- endif %}`;

const emptyTool = {
  type: "function",
  function: { name: "now", description: "", parameters: { type: "object", properties: {}, required: [] } },
};
export const searchTool = {
  type: "function",
  function: {
    name: "search",
    description: 'Finds "things" <b>é</b>\n',
    parameters: {
      type: "object",
      properties: { query: { type: "string" }, top: { type: "number" } },
      required: ["query"],
    },
  },
};

const argumentsOfEveryKind = {
  query: 'it\'s a "é"\n',
  top: 3,
  exact: true,
  none: null,
  list: [1, "a", 0.5],
  tiny: 1e-7,
};

export const conversation: ChatMessage[] = [
  { role: "system", content: " Be brief. " },
  { role: "user", content: "  Where is it?\n" },
  {
    role: "assistant",
    content: "Let me look.",
    tool_calls: [
      { type: "function", function: { name: "search", arguments: argumentsOfEveryKind } },
      { type: "function", function: { name: "now", arguments: {} } },
    ],
  },
  { role: "tool", name: "search", content: "Шкаф 👍🏽 <b>" },
  { role: "tool", name: "now", content: "12:00" },
  { role: "assistant", content: "" },
  { role: "user", content: "" },
];

const thoughts: ChatMessage[] = [
  { role: "user", content: "2+2" },
  { role: "assistant", content: "<think>\n\n  carry \n</think>\n\n\n  4 " },
  { role: "user", content: "3+3" },
  { role: "assistant", content: "<think>\n easy\n\n</think>\n\n6" },
];

const templates = [
  ["default", undefined],
  ["qwen-like", qwenLikeTemplate],
  ["llama-like", llamaLikeTemplate],
] as const;

export const chatCases: readonly ChatCase[] = [
  ...templates.flatMap(([name, template]): ChatCase[] => {
    const chosen = template === undefined ? {} : { template };
    return [
      {
        name: `${name}, one message`,
        ...chosen,
        messages: [{ role: "user", content: "Hi" }],
        addGenerationPrompt: true,
      },
      { name: `${name}, no prompt`, ...chosen, messages: conversation.slice(0, 2), addGenerationPrompt: false },
      {
        name: `${name}, tools`,
        ...chosen,
        messages: conversation,
        tools: [searchTool, emptyTool],
        addGenerationPrompt: true,
      },
      {
        name: `${name}, no system`,
        ...chosen,
        messages: conversation.slice(1),
        tools: [emptyTool],
        addGenerationPrompt: true,
      },
    ];
  }),
  {
    name: "default, a call written as a string and one without content",
    messages: [
      { role: "user", content: "x" },
      { role: "assistant", content: null, tool_calls: [{ function: { name: "f", arguments: '{"a":1}' } }] },
    ],
    addGenerationPrompt: false,
  },
  { name: "thinking", template: thinkingTemplate, messages: thoughts, addGenerationPrompt: false },
  {
    name: "thinking, switched off",
    template: thinkingTemplate,
    messages: thoughts.slice(0, 3),
    addGenerationPrompt: true,
    variables: { enable_thinking: false },
  },
  {
    name: "values as Python writes them",
    template:
      "{{ messages[0].odd }}|{{ messages[0].odd.a | string }}|{{ none }}|{{ not messages }}|{{ missing }}|{{ 7 / 2 }} {{ 6 / 2 }}|" +
      "{{ messages[0].odd | tojson(indent=2, sort_keys=true) }}|{{ messages[0].odd | tojson(ensure_ascii=true) }}|" +
      "{{ [1, 2] | tojson(separators=(',', ':')) }}|{% for i in range(1, 6, 2) %}{{ i }}{{ loop.last }}{% endfor %}",
    messages: [
      { role: "user", odd: { b: [], a: { z: {}, y: [null, true, "q'\"\u2028\n\u007f"] }, Z: 1e-5, e: "é👍" } },
    ],
    addGenerationPrompt: true,
  },
];
