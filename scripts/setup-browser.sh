#!/usr/bin/env bash
# Installs a headless Chromium for the browser suites (*.browser.test.ts) where there is none. Needs apt-get and root.
set -euo pipefail

for name in chromium-headless-shell chromium chromium-browser google-chrome; do
  if command -v "$name" > /dev/null; then
    echo "setup-browser: $name is there"
    exit 0
  fi
done
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get > /dev/null; then
  echo "setup-browser: no browser, and no apt-get as root to install one; install chromium-headless-shell yourself"
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends chromium-headless-shell ||
  apt-get install -y -qq --no-install-recommends chromium
echo "setup-browser: done"
