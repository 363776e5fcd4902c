#!/usr/bin/env bash
# Makes a virtual environment with SkyRL tx, a server of the Tinker protocol, for *.tinker.slow.test.ts. Minutes and 6 GB the first time.
#   PYTHON=python3.12 scripts/setup-tinker.sh ~/tx && LUDUS_TINKER_PYTHON=~/tx/bin/python npm run test:slow -- tinker
set -euo pipefail

target=${1:?the folder of the virtual environment, such as ~/tx}
version=0.3.0

if "$target/bin/python" -c "import importlib.metadata as m; assert m.version('skyrl-tx') == '$version'" 2>/dev/null; then
  echo "setup-tinker: $target has SkyRL tx $version"
  exit 0
fi
python=${PYTHON:-python3.12}
if ! "$python" -c "import sys; assert sys.version_info >= (3, 12)" 2>/dev/null; then
  echo "setup-tinker: $python is not Python 3.12 or newer; name one: PYTHON=/usr/bin/python3.12 scripts/setup-tinker.sh $target" >&2
  exit 1
fi
"$python" -m venv "$target"
echo "setup-tinker: installing SkyRL tx $version"
"$target/bin/pip" install --disable-pip-version-check -qq "skyrl-tx[tinker,jax]==$version"
echo "setup-tinker: done; set LUDUS_TINKER_PYTHON=$target/bin/python"
