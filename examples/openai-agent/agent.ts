/** An ordinary agent on OpenAI's SDK: it finds somebody in an office by asking a directory. It knows nothing of training. */
import OpenAI from "openai";

/** Who is whose boss, and who sits where. */
export interface Office {
  readonly boss: Readonly<Record<string, string>>;
  readonly room: Readonly<Record<string, string>>;
}

const parameters = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const tools: OpenAI.ChatCompletionTool[] = [
  { type: "function", function: { name: "boss", description: "Whom somebody works for", parameters } },
  { type: "function", function: { name: "room", description: "Where somebody sits", parameters } },
];

export async function agent(question: string, office: Office, baseURL: string): Promise<string> {
  const client = new OpenAI({ baseURL, apiKey: "none" });
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: question }];
  for (let turn = 0; turn < 4; turn++) {
    const { choices } = await client.chat.completions.create({ model: "clerk", messages, tools });
    const { message } = choices[0];
    if (message.tool_calls === undefined) return message.content ?? "";
    messages.push(message);
    for (const call of message.tool_calls) {
      messages.push({ role: "tool", tool_call_id: call.id, content: look(office, call) });
    }
  }
  return "";
}

function look(office: Office, call: OpenAI.ChatCompletionMessageToolCall): string {
  if (call.type !== "function" || (call.function.name !== "boss" && call.function.name !== "room"))
    return "no such tool";
  const { name } = JSON.parse(call.function.arguments) as { name?: string };
  return office[call.function.name][name ?? ""] ?? "nobody";
}
