/**
 * A Node that has started and waits for its one call: what comes on descriptor 3 says what to run. It then is that call: its streams, limits and memory
 * group were given to it when it started. Written for `node -e`, which makes globals of the built-in modules; a file does not see those.
 */
export const nodeSpareProgram = `
"use strict";
{
  const fs = require("node:fs");
  const vm = require("node:vm");
  const Module = require("node:module");
  const { resolve } = require("node:path");
  const { args, cwd, env } = JSON.parse(fs.readFileSync(3, "utf8"));
  fs.closeSync(3);
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.execArgv.length = 0;
  if (args[0] === "-e") {
    process.argv.push(...args.slice(2));
    vm.runInThisContext(args[1], { filename: "[eval]", importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER });
  } else {
    const kept = ["console", "crypto", "process"];
    const shown = [...Module.builtinModules, "require", "module", "exports", "__filename", "__dirname"];
    for (const name of shown) if (!kept.includes(name)) delete globalThis[name];
    process.argv.push(resolve(args[0]), ...args.slice(1));
    Module.runMain(process.argv[1]);
  }
}
`;
