#!/usr/bin/env bash
# Makes the code on both sides from worker/ludus_worker/engine.proto. Needs LUDUS_PYTHON (or .venv) with grpcio-tools, and
# @bufbuild/protoc-gen-es, which npx fetches.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${LUDUS_PYTHON:-.venv/bin/python}
folder=worker/ludus_worker
plugin=${PROTOC_GEN_ES:-$(npx --yes --package @bufbuild/protoc-gen-es -c 'which protoc-gen-es')}

"$python" -m grpc_tools.protoc --proto_path="$folder" --plugin=protoc-gen-es="$plugin" \
  --es_out=src/engine/torch --es_opt=target=ts,import_extension=ts engine.proto
"$python" - "$folder" <<'PYTHON'
import base64, pathlib, sys, tempfile, textwrap
from grpc_tools import protoc
from google.protobuf import descriptor_pb2

folder = pathlib.Path(sys.argv[1])
with tempfile.TemporaryDirectory() as scratch:
    out = pathlib.Path(scratch) / "set"
    assert protoc.main(["protoc", f"--proto_path={folder}", f"--descriptor_set_out={out}", "engine.proto"]) == 0
    file = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file[0]
text = base64.b64encode(file.SerializeToString()).decode()
lines = "\n".join(f'    "{line}"' for line in textwrap.wrap(text, 110))
(folder / "engine_descriptor.py").write_text(
    f"# Generated from engine.proto by scripts/generate-protocol.sh; do not edit.\ndescriptor = (\n{lines}\n)\n"
)
PYTHON
