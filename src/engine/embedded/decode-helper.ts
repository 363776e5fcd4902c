import { workerData } from "node:worker_threads";
import { stagesOf } from "./decode-stages.ts";
import { type HelperSetup, helpForever } from "./decode-team.ts";
import { kernelShape } from "./kernels/kernel-shape.ts";
import { Kernels } from "./kernels/kernels.ts";

// A thread that computes its share of decode steps. It never returns to the event loop: between steps it sleeps.

const { config, kernels: compiled, memory, at, thread, threads, words } = workerData as HelperSetup;
const shape = kernelShape(config);
const kernels = new Kernels(shape, { module: compiled.module, memory, at, thread });

helpForever(words, stagesOf({ shape, kernels, panelWidth: compiled.panelWidth, threads }));
