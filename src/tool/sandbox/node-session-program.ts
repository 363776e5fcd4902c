/**
 * A Node that runs one call after another, each in a context of `node:vm` and with modules of its own. Requests come on descriptor 3, a line each. That a call
 * has ended is told by its token on both streams, once nothing is left that would keep a Node alive. Whatever a context cannot undo ends the process
 * instead, with the status that the call has: an error, `process.exit`, listeners on `process`, a use of its input.
 */
export const nodeSessionProgram = `
"use strict";
{
  const fs = require("node:fs");
  const vm = require("node:vm");
  const Module = require("node:module");
  const { Socket } = require("node:net");
  const { basename, dirname, extname, resolve } = require("node:path");
  const { parse } = JSON;
  const megabytesKept = 256;
  const streams = [process.stdout, process.stderr].map((stream) => ({ stream, write: stream.write.bind(stream) }));
  const channel = new Socket({ fd: 3 });
  const requests = channel.setEncoding("utf8");
  const builtin = [...Module.builtinModules, "require", "module", "exports", "__filename", "__dirname"];
  const ofFiles = new Set(builtin.filter((name) => !["console", "crypto", "process"].includes(name)));
  const counted = () => process.eventNames().map((name) => String(name) + process.listenerCount(name)).join();
  let token, listeners, isStale = false;

  const stdin = Object.getOwnPropertyDescriptor(process, "stdin");
  Object.defineProperty(process, "stdin", { ...stdin, get() { isStale = true; return stdin.get.call(process); } });

  /** What a global scope has beside the language. */
  function makeContext(isFile) {
    const context = vm.createContext(vm.constants.DONT_CONTEXTIFY);
    for (const name of Reflect.ownKeys(globalThis)) {
      // a context has a console of V8, which prints nowhere
      if ((name in context && name !== "console") || (isFile && ofFiles.has(name))) continue;
      const put = (value) => Object.defineProperty(context, name, { value, writable: true, configurable: true, enumerable: true });
      Object.defineProperty(context, name, { get: () => globalThis[name], set: put, configurable: true, enumerable: false });
    }
    Object.defineProperty(context, "global", { value: context, writable: true, configurable: true });
    return context;
  }

  /** Modules of ECMAScript are kept by Node for good: a call that has some runs in a process of its own. */
  const isForeign = (source) => /\\bimport\\b/.test(source);

  function compile(source, filename, context) {
    if (isForeign(source)) throw new SyntaxError("import");
    const names = ["exports", "require", "module", "__filename", "__dirname"];
    return vm.compileFunction(source.replace(/^#!.*/, ""), names, { filename, parsingContext: context });
  }

  function loader(context) {
    const cache = Object.create(null);
    const load = (filename, compiled, main) => {
      const module = { id: main === undefined ? "." : filename, filename, path: dirname(filename), exports: vm.runInContext("({})", context), loaded: false, children: [], paths: [] };
      cache[filename] = module;
      const require = requireFrom(filename, main ?? module);
      module.require = require;
      try {
        Reflect.apply(compiled, module.exports, [module.exports, require, module, filename, dirname(filename)]);
      } catch (error) {
        delete cache[filename];
        throw error;
      }
      module.loaded = true;
      return module.exports;
    };
    const requireFrom = (filename, main) => {
      const native = Module.createRequire(filename);
      const foreign = (id) => {
        isStale = true;
        return native(id);
      };
      const require = (id) => {
        const found = native.resolve(id);
        if (Module.isBuiltin(found)) return native(id);
        if (found in cache) return cache[found].exports;
        if (extname(found) === ".json") {
          const exports = vm.runInContext("JSON.parse", context)(fs.readFileSync(found, "utf8").replace(/^\\uFEFF/, ""));
          cache[found] = { id: found, filename: found, exports, loaded: true };
          return exports;
        }
        if (![".js", ".cjs"].includes(extname(found))) return foreign(id);
        let compiled;
        try {
          compiled = compile(fs.readFileSync(found, "utf8"), found, context);
        } catch (error) {
          return foreign(id);
        }
        return load(found, compiled, main);
      };
      return Object.assign(require, { resolve: native.resolve, cache, main });
    };
    return { load, requireFrom };
  }

  /** What runs the call; undefined where it has to run elsewhere. */
  function prepare([first, ...rest], cwd) {
    const isFile = first !== "-e";
    const context = makeContext(isFile);
    const { load, requireFrom } = loader(context);
    try {
      if (isFile) {
        const filename = fs.realpathSync(resolve(cwd, first));
        const compiled = compile(fs.readFileSync(filename, "utf8"), filename, context);
        return { argv: [filename, ...rest], run: () => load(filename, compiled, undefined) };
      }
      const [source, ...given] = rest;
      if (isForeign(source)) return undefined;
      const script = new vm.Script(source, { filename: "[eval]" });
      const module = { id: "[eval]", exports: vm.runInContext("({})", context), filename: resolve(cwd, "[eval]"), loaded: false, children: [], paths: [] };
      const require = requireFrom(module.filename, undefined);
      const local = { require, module, exports: module.exports, __filename: "[eval]", __dirname: "." };
      for (const name of Object.keys(local)) context[name] = local[name];
      return { argv: given, run: () => script.runInContext(context) };
    } catch (error) {
      return undefined;
    }
  }

  function begin(line) {
    const { args, cwd, env, ...given } = parse(line);
    token = given.token;
    channel.unref();
    process.chdir(cwd);
    for (const name of Object.keys(process.env)) delete process.env[name];
    Object.assign(process.env, env);
    process.exitCode = undefined;
    for (const name of Object.keys(Module._pathCache)) delete Module._pathCache[name];
    const prepared = prepare(args, cwd);
    if (prepared === undefined) return end("elsewhere");
    process.argv = [process.execPath, ...prepared.argv];
    listeners = counted();
    prepared.run();
  }

  function end(status) {
    const ended = "\\0" + token + " " + status + "\\n";
    token = undefined;
    channel.ref();
    for (const { write } of streams) write(ended);
  }

  process.on("beforeExit", () => {
    if (token === undefined) return;
    const status = Number(process.exitCode ?? 0);
    const isChanged = isStale || counted() !== listeners || streams.some(({ stream }) => !stream.writable);
    if (isChanged || process.memoryUsage.rss() > megabytesKept << 20) process.exit(status);
    try {
      process.kill(-1, "SIGKILL"); // what the call left behind
    } catch (error) {
      // there is nothing
    }
    end(status);
  });

  let pending = "";
  requests.on("data", (chunk) => {
    pending += chunk;
    const at = pending.indexOf("\\n");
    if (at < 0) return;
    const line = pending.slice(0, at);
    pending = pending.slice(at + 1);
    begin(line);
  });
  process.execArgv.length = 0;
}
`;
