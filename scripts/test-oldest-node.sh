#!/usr/bin/env bash
# Tests of the engine, the store and training on the oldest Node that Ludus runs on, which is fetched into a temporary folder.
#
#     scripts/test-oldest-node.sh                everything that depends on the version
#     scripts/test-oldest-node.sh src/store      any vitest arguments
set -euo pipefail
cd "$(dirname "$0")/.."

oldest=$(node -p 'require("./package.json").engines.node.replace(/[^0-9.]/g, "")')
platform=$(node -p '`${process.platform}-${process.arch}`')
folder=$(mktemp -d)
chmod 755 "$folder" # tests start it as another user too
trap 'rm -rf "$folder"' EXIT
npm pack --silent --pack-destination "$folder" "node-$platform@$oldest" > /dev/null
tar xzf "$folder"/*.tgz -C "$folder"
export PATH="$folder/package/bin:$PATH"
echo "tests on node $(node --version)"
# threads, kernels, SQLite and files depend on the version; what the stages of training compute does not, and takes minutes
[ $# -gt 0 ] || set -- src/engine src/store src/train/train.test.ts src/train/resume.test.ts src/train/train-async
node node_modules/vitest/vitest.mjs run --project unit --reporter dot "$@"
