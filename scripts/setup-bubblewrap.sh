#!/usr/bin/env bash
# Installs bubblewrap, in which a model's code runs, where there is none. Needs apt-get and root.
set -euo pipefail

if command -v bwrap > /dev/null; then
  echo "setup-bubblewrap: $(bwrap --version) is there"
  exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get > /dev/null; then
  echo "setup-bubblewrap: no bwrap, and no apt-get as root to install it; install bubblewrap yourself"
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends bubblewrap
echo "setup-bubblewrap: done"
