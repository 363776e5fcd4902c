import { project } from "./first-hour.ts";
import type { Part } from "./part.ts";

const ask = `const [url, model] = process.argv.slice(2);
const look = {
  name: "look",
  description: "Looks around in a room",
  parameters: { type: "object", properties: { room: { type: "string" } }, required: ["room"] },
};

async function post(path, body) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(\`\${url}/\${path}\`, { method: "POST", headers, body: JSON.stringify({ model, temperature: 0, ...body }) });
  const answer = await response.json();
  if (!response.ok) throw new Error(\`\${response.status} \${answer.error.message}\`);
  return answer;
}

const messages = [{ role: "user", content: "Start in the hall." }];
const tools = [{ type: "function", function: look }];
for (const found of ["A note: study.", "The key!"]) {
  const [{ message, logprobs }] = (await post("chat/completions", { messages, tools, logprobs: true })).choices;
  console.log("sampled:", logprobs.content.map(({ token }) => token).join(""));
  console.log("answered:", JSON.stringify(message.tool_calls.map((call) => call.function)));
  messages.push(message, { role: "tool", tool_call_id: message.tool_calls[0].id, content: found });
}

const input = "Start in the garden.";
const { output } = await post("responses", { input, tools: [{ type: "function", ...look }] });
for (const { type, name, arguments: given } of output) console.log("responses:", type, name, given);
`;

export const served: Part = {
  name: "serve",
  title: "Serve the trained agent",
  needs: [project],
  async run(user) {
    user.writes("my-agent/ask.js", ask);
    const command = "npx ludus serve runs/key-hunt-1";
    await user.serves(command, "my-agent", { prints: /^http:\S+(?=\s)/m }, async ({ address }) => {
      await user.does([
        {
          in: "my-agent",
          say: `node ask.js ${address} key-hunt-1`,
          expect: [
            /^sampled: look hall/m,
            /^answered: \[\{"name":"look","arguments":"\{\\"room\\":\\"hall\\"\}"\}\]$/m,
            /^sampled: look study/m,
            /^responses: function_call look \{"room":"garden"\}$/m,
          ],
        },
        {
          in: "my-agent",
          say: `curl -s ${address}/chat/completions -H 'content-type: application/json' -d '{"model": "gpt-5-mini", "messages": [{"role": "user", "content": "Hello"}]}'`,
          expect: [/"error":.*gpt-5-mini.*key-hunt-1/],
        },
      ]);
    });
    user.notes("The run writes its calls as `look hall`; whoever asks reads them as the tool calls of the protocol.");
  },
};
