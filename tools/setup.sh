#!/bin/sh
# Installs the Debian packages of the files given (or packages.txt) that are not yet there.
set -eu
cd "$(dirname "$0")/.."
wanted=$(sed -e 's/#.*//' "${@:-packages.txt}" | tr -s ' \n' ' ')
if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
  echo "This system has no apt. eigenpair needs what Debian calls:"
  for p in $wanted; do echo "  $p"; done
  echo "Install these, then: cmake --preset release && cmake --build --preset release"
  exit 1
fi
# A package may be provided by another: some builds of nodejs bring npm, and Debian's own would not install beside them.
provided=$(dpkg-query -W -f '${Status} ${Package}, ${Provides}\n' | sed -n 's/^[a-z]* ok installed//p' | tr -d ' ' | tr ',\n' '  ')
missing=
for p in $wanted; do
  case " $provided " in *" $p "*) ;; *) missing="$missing $p" ;; esac
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ]; then root=; else root=sudo; fi
echo "installing:$missing"
# The package lists may be old or absent: update once, and only when something is missing.
$root apt-get update -qq
DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $missing >/dev/null
