#!/usr/bin/env bash
# Makes .venv with what the Python suites (*.parity.test.ts) compare with. Quick when it is already there.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=scripts/python-requirements.txt
stamp=.venv/ludus-requirements.txt
python=${PYTHON:-python3}

if [ -x .venv/bin/python ] && cmp --silent "$requirements" "$stamp"; then
  echo "setup-python: .venv is up to date"
  exit 0
fi

echo "setup-python: making .venv with $("$python" --version)"
rm -f "$stamp"
"$python" -m venv .venv
torch=$(grep '^torch==' "$requirements")
echo "setup-python: installing $torch"
.venv/bin/pip install --disable-pip-version-check -qq "$torch"
echo "setup-python: installing the rest of $requirements"
.venv/bin/pip install --disable-pip-version-check -qq --requirement "$requirements"
cp "$requirements" "$stamp"
echo "setup-python: done"
