import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { findPython } from "../find-python.ts";
import { project } from "./first-hour.ts";
import type { Need, Part } from "./part.ts";
import type { Step } from "./user.ts";

const root = join(import.meta.dirname, "../..");
export const python = findPython(root, process.env.LUDUS_PYTHON || undefined);
export const vllmPython = process.env.LUDUS_VLLM_PYTHON || undefined;

const exporting: Step = {
  in: "my-agent",
  say: "npx ludus export runs/key-hunt-1 --format huggingface --out model",
  expect: [/^The model of step 209 in model$/m],
};

const model: Need = { path: "my-agent/model", needs: [project], steps: () => [exporting] };

const generate = `from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("model")
tokenizer = AutoTokenizer.from_pretrained("model")
look = {
    "name": "look",
    "description": "Looks around in a room",
    "parameters": {"type": "object", "properties": {"room": {"type": "string"}}, "required": ["room"]},
}
messages = [{"role": "user", "content": "Start in the hall."}]
tools = [{"type": "function", "function": look}]
inputs = tokenizer.apply_chat_template(messages, tools=tools, add_generation_prompt=True, return_tensors="pt", return_dict=True)
output = model.generate(**inputs, max_new_tokens=16, do_sample=False)
print("read:", repr(tokenizer.decode(inputs["input_ids"][0])))
print("said:", tokenizer.decode(output[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))
`;

export const exported: Part = {
  name: "export",
  title: "The model in transformers",
  needs: [project],
  async run(user) {
    user.clears("my-agent/model");
    await user.does([
      exporting,
      { in: "my-agent", say: "ls model", expect: [/^model\.safetensors$/m, /^chat_template\.jinja$/m] },
    ]);
    if (!python.found) {
      user.notes(`The model was not loaded with transformers: ${python.reason}.`);
      return;
    }
    user.writes("my-agent/generate.py", generate);
    const say = `${python.python} generate.py`;
    await user.does([{ in: "my-agent", say, expect: [/^read: .*Start in the hall\./m, /^said: look hall$/m] }]);
  },
};

const question = `const [url] = process.argv.slice(2);
const body = JSON.stringify({ model: "model", messages: [{ role: "user", content: "Start in the hall." }], temperature: 0, max_tokens: 16 });
const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
const { choices } = await response.json();
console.log(response.status, choices[0].message.content);
`;

export const inVllm: Part = {
  name: "vllm",
  title: "The model in vLLM",
  needs: [model],
  async run(user) {
    if (vllmPython === undefined) {
      user.notes("Left out: `LUDUS_VLLM_PYTHON` names no Python with vLLM; `scripts/setup-vllm.sh` makes one.");
      return;
    }
    const port = await freePort();
    const options = `--model model --host 127.0.0.1 --port ${port} --dtype float32 --enforce-eager`;
    const command = `VLLM_CPU_KVCACHE_SPACE=1 ${vllmPython} -m vllm.entrypoints.openai.api_server ${options}`;
    user.writes("my-agent/question.js", question);
    await user.serves(command, "my-agent", { answers: `http://127.0.0.1:${port}/health` }, async ({ address }) => {
      const say = `node question.js ${address}/v1/chat/completions`;
      await user.does([{ in: "my-agent", say, expect: [/^200 look hall$/m] }]);
    });
  },
};

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as { port: number };
  await new Promise((done) => listener.close(done));
  return port;
}
