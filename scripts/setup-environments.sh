#!/usr/bin/env bash
# Makes .venv-environments with other people's environments, which *.slow.test.ts of src/env play: OpenEnv, Gymnasium, reasoning-gym,
# TextArena. LUDUS_ENVIRONMENTS names another Python that has them.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
"$python" -m venv .venv-environments
.venv-environments/bin/pip install --quiet "openenv-core>=0.3" "gymnasium>=1.0" "reasoning-gym>=0.1.25" "textarena>=0.7"
echo "Now: LUDUS_ENVIRONMENTS=.venv-environments/bin/python npm run test:slow -- open-env python-env other-environments"
