#!/usr/bin/env bash
# Makes .venv-environments with other people's environments and scorers of benchmarks, which *.slow.test.ts of src/env, src/eval and src/scorer use: OpenEnv,
# Gymnasium, reasoning-gym, TextArena, verifiers; ALFWorld, swebench, bfcl-eval. None of them brings PyTorch. A folder elsewhere may be named;
# LUDUS_ENVIRONMENTS is the Python in it.
#
#     scripts/setup-environments.sh [folder]
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
folder=${1:-.venv-environments}
"$python" -m venv "$folder"
pip=$folder/bin/pip
"$pip" install --quiet "openenv-core>=0.3" "gymnasium>=1.0" "reasoning-gym>=0.1.25" "textarena>=0.7" \
  "verifiers==0.4.0" "textworld==1.7.0" "alfworld==0.4.2" "swebench==5.0.2" "mpmath==1.3.0"
# its requirements are those of the whole leaderboard, with other versions of what is here
"$pip" install --quiet --no-deps "bfcl-eval==2026.3.23"
echo "Now: LUDUS_ENVIRONMENTS=$folder/bin/python npm run test:slow -- open-env python-env verifiers other-environments official bfcl"
