#!/usr/bin/env bash
# Makes .venv-trackers with Weights & Biases and MLflow, whose own readers src/monitor/experiment-trackers.parity.test.ts compares with.
# They are kept apart from .venv because of their many dependencies. LUDUS_TRACKERS names the bin folder of another environment.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 -m venv .venv-trackers
.venv-trackers/bin/pip install --quiet "wandb>=0.31" "mlflow>=3.17"
echo "Now: LUDUS_PYTHON=.venv/bin/python npm test -- src/monitor/experiment-trackers.parity.test.ts"
