import { defined } from "../../defined.ts";
import { describeEngine } from "../../engine/describe-engine.ts";
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
  key: {
    type: "string",
    summary: "API key that clients must send; with --record one is made by default",
    value: "key",
  },
  name: { type: "string", summary: "Model name for clients; the folder's name by default", value: "name" },
  renderer: {
    type: "string",
    summary: "How messages are rendered to tokens; by default as in training",
    value: "renderer",
    choices: ["compact", "chat"],
  },
  format: {
    type: "string",
    summary: "How tool calls are written; by default as in training",
    value: "format",
    choices: ["plain", "hermes", "react", "think-answer", "llama", "search", "compact"],
  },
  engine: { type: "string", choices: ["embedded", "torch"], summary: "Compute engine; embedded by default" },
  record: { type: "boolean", summary: "Record the calls of named rollouts, with their tokens, for training" },
} as const satisfies OptionTable;

export const serve: Command = {
  name: "serve",
  summary: "Serve a checkpoint with OpenAI's, Anthropic's and Google's protocols",
  usage: "<run or model folder>",
  options,
  details: `Clients use the printed address as their base URL. With --record, calls under /rollouts/<id>/v1, or with the header
x-ludus-rollout, belong to that rollout; POST /rollouts/<id>/reward {"reward": 1} ends it, GET /rollouts/<id> gives its trajectories,
DELETE /rollouts/<id> gives and forgets them. All of it needs the key: --key, or the one that is printed.`,
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
      const { callFormats } = await import("../../policy/formats/call-formats.ts");
      const format = values.format === undefined ? undefined : callFormats[values.format]();
      const model = await loadServedModel(folder, { name, renderer, format, engine });
      try {
        const server = await serveModel({
          model,
          ...defined({ host, port, apiKey: key, record: values.record ? {} : undefined }),
        });
        terminal.stderr.write(`${model.name}: ${describeEngine(model.engine.info)}\n`);
        terminal.stdout.write(`${server.url}\n`);
        if (key === undefined && server.apiKey !== undefined) terminal.stdout.write(`API key: ${server.apiKey}\n`);
        if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
        await server.close();
        return 0;
      } finally {
        await model.engine.close();
      }
    });
  },
};
