/** The oldest Node with type stripping and `node:sqlite`; the same as `engines` of package.json says. */
const oldest = [22, 18] as const;

/** What is wrong with a version of Node; nothing where it is new enough. */
export function nodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.match(/\d+/g)?.map(Number) ?? [];
  if (major > oldest[0] || (major === oldest[0] && minor >= oldest[1])) return undefined;
  return `Ludus needs Node ${oldest.join(".")} or newer, and this is ${version}. Install a newer one from nodejs.org.`;
}

// every entry point imports this first: without it the first thing that an older Node lacks would be told, and not why. In a
// browser there is no process
const version = globalThis.process?.versions?.node;
const problem = version === undefined ? undefined : nodeProblem(version);
if (problem !== undefined) {
  const error = new Error(problem);
  // where it was thrown tells nobody anything
  error.stack = `Error: ${problem}`;
  throw error;
}
