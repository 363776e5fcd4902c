import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { errorText, LudusError } from "../../src/errors.ts";

const variable = "LUDUS_BOXES_CONTAINER";

/**
 * A container engine's `run`, as one would type it, such as `podman run --rm --network none python-and-node`: what follows is the command. Why there is none, in
 * words, where it is not given or does not work here.
 */
export async function containerRun(
  given = process.env[variable],
): Promise<
  | { readonly command: string; run(file: string, args: readonly string[]): Promise<void> }
  | { readonly notMeasured: string }
> {
  const [program, ...first] = (given ?? "").split(/\s+/).filter(Boolean);
  if (program === undefined)
    return {
      notMeasured: `\`docker run\` or \`podman run\`, which ${variable} names, with an image that has python3 and node`,
    };
  const run = async (file: string, args: readonly string[]) => {
    const { stdout } = await promisify(execFile)(program, [...first, file, ...args]);
    if (stdout !== "2\n") throw new LudusError("wrong-answer", { got: stdout, expected: "2" });
  };
  try {
    await run("python3", ["-c", "print(1 + 1)"]);
    await run("node", ["-e", "console.log(1 + 1)"]);
  } catch (error) {
    return { notMeasured: `\`${given}\` failed (${errorText(error).split("\n")[0]})` };
  }
  return { command: `${program} ${first[0] ?? ""}`.trim(), run };
}
