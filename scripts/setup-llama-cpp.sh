#!/usr/bin/env bash
# Makes a virtual environment with llama.cpp, built from source, and GGUF's own reader, for llama-cpp.slow.test.ts. Minutes the first time.
#   scripts/setup-llama-cpp.sh ~/llama-cpp && LUDUS_LLAMA_CPP_PYTHON=~/llama-cpp/bin/python npm run test:slow -- llama-cpp
set -euo pipefail

target=${1:?the folder of the virtual environment, such as ~/llama-cpp}
version=0.3.36

if "$target/bin/python" -c "import gguf, importlib.metadata as m; assert m.version('llama-cpp-python') == '$version'" 2>/dev/null; then
  echo "setup-llama-cpp: $target has llama-cpp-python $version"
  exit 0
fi
"${PYTHON:-python3}" -m venv "$target"
echo "setup-llama-cpp: building llama-cpp-python $version; needs a C++ compiler and CMake"
CMAKE_ARGS="-DLLAVA_BUILD=OFF ${CMAKE_ARGS:-}" \
  "$target/bin/pip" install --disable-pip-version-check -qq "llama-cpp-python==$version" gguf==0.19.0
echo "setup-llama-cpp: done; set LUDUS_LLAMA_CPP_PYTHON=$target/bin/python"
