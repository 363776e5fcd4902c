import type { Command } from "../command.ts";
import { type OptionTable, onlyArguments, parseOptions } from "../parse-options.ts";

const options = {
  force: { type: "boolean", summary: "Allow a folder that is not empty; existing files are kept" },
  quiet: { type: "boolean", summary: "Print nothing" },
} as const satisfies OptionTable;

export const init: Command = {
  name: "init",
  summary: "Create a project: an environment, a training file, a test",
  usage: "[dir]",
  options,
  details: `Writes package.json, .gitignore, tsconfig.json, env.ts, env.test.ts and train.ts, here or into a folder.
Training takes about a minute: the policy learns to follow a trail of notes. Replace env.ts with your own environment.`,
  example: "ludus init my-agent",
  async run(args, { stdout }) {
    const { values, positionals } = parseOptions(args, options);
    const [directory = "."] = onlyArguments(positionals, { least: 0, most: 1 }, "one folder at most", "init");
    const { writeProject } = await import("../write-project.ts");
    const { written, kept } = writeProject(directory, values.force ?? false);
    if (values.quiet) return 0;
    const lines = [...written.map((file) => `wrote ${file}`), ...kept.map((file) => `kept ${file}, which was there`)];
    const enter = directory === "." ? "" : `cd ${directory} && `;
    stdout.write(`${lines.join("\n")}\n
Next:
  ${enter}npm install
  npm test               checks the environment
  npm run train          about a minute; the run is kept in runs/key-hunt-1
  npm run play           play it yourself

With npm 10, ONNXRUNTIME_NODE_INSTALL=skip npm install leaves out GPU libraries that ludus does not use.
`);
    return 0;
  },
};
