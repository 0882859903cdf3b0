#!/usr/bin/env bash
# need.sh PROGRAM PACKAGE: makes sure that PROGRAM can be run. As root on Debian or Ubuntu the package is installed;
# anywhere else the error says what to install.
set -euo pipefail

program=$1 package=$2
PATH=$PATH:/usr/sbin:/sbin
command -v "$program" >/dev/null && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "need.sh: installing $package, for $program is missing" >&2
  export DEBIAN_FRONTEND=noninteractive
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$package"; } >/dev/null
  command -v "$program" >/dev/null && exit 0
fi
echo "need.sh: $program is missing: install the Debian package $package (or its like) and run again" >&2
exit 1
