#!/usr/bin/env bash
# Installs PostgreSQL for the suites that start a server of their own, where there is none. Needs apt-get and root.
set -euo pipefail

if command -v initdb > /dev/null || compgen -G "/usr/lib/postgresql/*/bin/initdb" > /dev/null; then
  echo "setup-postgres: it is there"
  exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get > /dev/null; then
  echo "setup-postgres: no PostgreSQL, and no apt-get as root to install it; install postgresql yourself"
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# no server is started at boot: each suite starts its own
mkdir -p /etc/postgresql-common
echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.conf
apt-get install -y -qq --no-install-recommends postgresql
echo "setup-postgres: done"
