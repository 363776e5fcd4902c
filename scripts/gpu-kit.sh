#!/usr/bin/env bash
# What the benchmarks and the engine contract suite need on a machine that has a GPU and Python with PyTorch, but no Node and
# no network: Node, the packages of node_modules that run there, and the Python packages that PyTorch does not bring.
#   scripts/gpu-kit.sh                        here: makes .scratch/gpu/kit.tar.xz, minutes
#   eval "$(scripts/gpu-kit.sh --unpack)"     there, in the repository with the kit at that path: seconds; sets PATH and PYTHONPATH
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

kit=.scratch/gpu/kit.tar.xz
python_version=3.12
limit=$((60 * 1024 * 1024))
mode=make

help() {
  cat <<EOF
Usage: scripts/gpu-kit.sh [--python-version <version>]   makes $kit
       scripts/gpu-kit.sh --unpack                       unpacks it; prints what to export

  --python-version <version>   of the Python there; $python_version by default

The machine there: Linux on x64, glibc 2.28 or newer, xz, and a Python with torch and transformers as python3 or LUDUS_PYTHON.

Example:
  scripts/gpu-kit.sh
  eval "\$(scripts/gpu-kit.sh --unpack)" && node bench/main.ts gpu --json
EOF
}

say() { echo "gpu-kit: $*" >&2; }

fail() {
  say "$*"
  # what eval runs, so that it fails too
  [ "$mode" = make ] || echo false
  exit 1
}

# Packages that "npm install ludus" installs; of the embedded engine's libraries only those for Linux on x64.
packages() {
  node_modules/node/bin/node -p 'Object.entries(require("./package-lock.json").packages)
    .filter(([path, { dev, devOptional, peer, link }]) => path.startsWith("node_modules/") && !dev && !devOptional && !peer && !link)
    .map(([path]) => path.slice("node_modules/".length))
    .filter((name) => !name.includes("/node_modules/"))
    .join("\n")'
}

make() {
  local node wheels
  [ -x node_modules/node/bin/node ] || fail "there is no node_modules/node/bin/node; run npm ci"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work/bin" "$work/node_modules" "$work/python" "$(dirname "$kit")"

  node=$work/bin/node
  cp node_modules/node/bin/node "$node"
  strip "$node"
  say "Node $("$node" --version)"

  packages >"$work/packages"
  # only what runs: no declarations, sources, maps or documents
  tar -c -C node_modules --exclude='*.d.ts' --exclude='*.d.[cm]ts' --exclude='*.ts' --exclude='*.map' --exclude='*.md' \
    --exclude='onnxruntime-*/bin/*/darwin' --exclude='onnxruntime-*/bin/*/win32' --exclude='onnxruntime-*/bin/*/linux/arm64' \
    --exclude='onnxruntime-web' \
    --files-from="$work/packages" | tar -x -C "$work/node_modules"
  rm "$work/packages"

  mapfile -t wheels < <(grep -E '^(grpcio|protobuf|peft)==' scripts/python-requirements.txt)
  say "${wheels[*]} for Python $python_version"
  "${PYTHON:-python3}" -m pip install --disable-pip-version-check --quiet --no-deps --no-compile --only-binary=:all: \
    --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 --python-version "$python_version" \
    --target "$work/python" "${wheels[@]}"

  say "packing; this takes minutes"
  tar -c -C "$work" bin node_modules python | xz --x86 --lzma2=preset=9 >"$kit.part"
  mv "$kit.part" "$kit"
  say "$kit: $(du -h --apparent-size "$kit" | cut -f1)"
  [ "$(stat -c %s "$kit")" -le "$limit" ] || fail "that is more than $((limit / 1024 / 1024)) MiB"
}

unpack() {
  local folder python
  [ -f "$kit" ] || fail "there is no $kit; make it with scripts/gpu-kit.sh and bring it along"
  folder=${TMPDIR:-/tmp}/ludus-gpu-kit-$(sha256sum "$kit" | cut -c1-12)
  if [ ! -d "$folder" ]; then
    rm -rf "$folder.part" && mkdir -p "$folder.part"
    xz --decompress --stdout --threads=0 "$kit" | tar -x -C "$folder.part"
    mv "$folder.part" "$folder"
  fi
  if [ -e node_modules ] && [ ! -L node_modules ]; then
    fail "there is a node_modules here already; move it away, or use it as it is without a kit"
  fi
  ln -sfn "$folder/node_modules" node_modules
  python=${LUDUS_PYTHON:-python3}
  PYTHONPATH=$folder/python${PYTHONPATH:+:$PYTHONPATH} "$python" -c 'import google.protobuf, grpc' >&2 ||
    fail "the kit's packages do not load in $python ($("$python" --version 2>&1)): it lacks PyTorch, or the kit is for another version;" \
      "set LUDUS_PYTHON, or make the kit with --python-version"
  say "$("$folder/bin/node" --version) and $("$python" --version) in $folder"
  printf 'export PATH=%q:"$PATH" PYTHONPATH=%q"${PYTHONPATH:+:$PYTHONPATH}" LUDUS_PYTHON=%q\n' \
    "$folder/bin" "$folder/python" "$python"
}

while [ $# -gt 0 ]; do
  case $1 in
    --unpack) mode=unpack ;;
    --python-version)
      python_version=${2:?a version, such as 3.12}
      shift
      ;;
    --help | -h)
      help
      exit 0
      ;;
    *)
      help >&2
      fail "\"$1\" is not an option"
      ;;
  esac
  shift
done
$mode
