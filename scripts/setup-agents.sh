#!/usr/bin/env bash
# Puts agent frameworks that are too large for the development dependencies into a folder of their own, 0.6 GB, for
# src/server/agents/frameworks.slow.test.ts. No install script is run; Node is that of this repository.
#
#     scripts/setup-agents.sh <folder>
set -euo pipefail
folder=${1:?"usage: scripts/setup-agents.sh <folder>"}
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$folder"
cd "$folder"
echo '{ "private": true, "type": "module" }' >package.json
# resolves names from this folder
echo 'export const load = (name) => import(name);' >load.mjs
PATH=$root/node_modules/node/bin:$PATH npm install --ignore-scripts --no-audit --no-fund --save-exact \
  @anthropic-ai/claude-agent-sdk@0.3.326 @mastra/core@1.71.0 @openai/agents@0.20.0 zod@4.6.7
echo "Now: LUDUS_AGENTS=$PWD npm run test:slow -- frameworks"
