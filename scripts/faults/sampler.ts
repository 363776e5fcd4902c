// A sampler in a process of its own: prints its address as a line of JSON, and serves until it is killed.

import { serveSampler } from "../../src/rollout/remote/sampler-endpoint.ts";
import { slowPolicy } from "./config.ts";

const { engine } = slowPolicy();
const { url, key } = await serveSampler(engine, { host: "127.0.0.1", port: 0 });
process.stdout.write(`${JSON.stringify({ url, key })}\n`);
// the endpoint alone does not keep a process alive; a parent that is gone ends it
process.stdin.resume().on("end", () => process.exit(0));
