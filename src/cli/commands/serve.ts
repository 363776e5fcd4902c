import { defined } from "../../defined.ts";
import type { Command } from "../command.ts";
import { type OptionTable, parseOptions, usageError } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";

const options = {
  port: { type: "number", most: 65535, summary: "Port; any free one by default", value: "number" },
  host: {
    type: "string",
    summary: "Address to listen on; 127.0.0.1 by default; others need --key",
    value: "address",
  },
  key: { type: "string", summary: "API key that clients must send", value: "key" },
  name: { type: "string", summary: "Model name for clients; the folder's name by default", value: "name" },
  renderer: {
    type: "string",
    summary: "How messages are rendered to tokens; by default as in training",
    value: "renderer",
    choices: ["compact", "chat"],
  },
  engine: { type: "string", choices: ["embedded", "torch"], summary: "Compute engine; embedded by default" },
  record: { type: "boolean", summary: "Record the calls of named rollouts, with their tokens, for training" },
} as const satisfies OptionTable;

export const serve: Command = {
  name: "serve",
  summary: "Serve a checkpoint with OpenAI's and Anthropic's protocols",
  usage: "<run or model folder>",
  options,
  details: `Clients use the printed address as their base URL. With --record, calls under /rollouts/<id>/v1, or with the header
x-ludus-rollout, belong to that rollout; POST /rollouts/<id>/reward {"reward": 1} ends it, GET /rollouts/<id> gives its trajectories.`,
  example: "ludus serve runs/first --port 8000",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    const [folder, ...others] = positionals;
    if (folder === undefined || others.length > 0) {
      const got = positionals.length === 0 ? "nothing" : positionals.join(" ");
      throw usageError("bad-usage", { got, expected: "one folder", hint: "See ludus serve --help." });
    }
    const { loadServedModel } = await import("../../server/load-served-model.ts");
    const { serveModel } = await import("../../server/openai-server.ts");
    const { host, port, key, name, renderer } = values;
    return stoppable(terminal, async (signal) => {
      const engine = values.engine === "torch" ? (await import("../../engine/torch/torch.ts")).torch : undefined;
      const model = await loadServedModel(folder, { name, renderer, engine });
      try {
        const server = await serveModel({
          model,
          ...defined({ host, port, apiKey: key, record: values.record ? {} : undefined }),
        });
        terminal.stdout.write(`${server.url}\n`);
        if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
        await server.close();
        return 0;
      } finally {
        await model.engine.close();
      }
    });
  },
};
