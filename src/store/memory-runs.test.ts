import { memoryRuns } from "./memory-runs.ts";
import { storeContract } from "./store.contract.ts";

storeContract("the in-memory store", async () => ({ runs: memoryRuns(), remove: async () => {} }));
