#!/bin/sh
# test_packages.sh FOLDER: installs the .deb and unpacks the .tar.gz of a folder, each on a bare Debian 12 of its own (what
# mmdebstrap makes of Debian's packages), and runs what is there: a fit, an embedding, a comparison; against the .deb a C program.
# Needs root and Debian's mirror; everything happens in a folder that goes away.
set -eu
deb=$(ls "$1"/*.deb) archive=$(ls "$1"/*.tar.gz)
example=$(dirname "$0")/../examples/embed.c
command -v mmdebstrap >/dev/null || { echo "test_packages.sh: needs Debian's mmdebstrap"; exit 1; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mmdebstrap --quiet --variant=minbase bookworm "$root/bare.tar"

use='eigenpair version && cd /tmp &&
  eigenpair fit digits --samples 200 --width 200 --outputs 16 --out m.npz &&
  eigenpair embed --model m.npz --data digits:test --out e.npy &&
  eigenpair compare digits --quick --samples 100 --widths 50 --out c >/dev/null && test -s c/report.html && test -s e.npy'

bare() { # name of a new chroot
  mkdir "$root/$1"
  tar -C "$root/$1" --exclude='./dev/*' -xf "$root/bare.tar"
  mknod -m 666 "$root/$1/dev/null" c 1 3
  mknod -m 444 "$root/$1/dev/urandom" c 1 9
  cp /etc/resolv.conf "$root/$1/etc/resolv.conf"
}
inside() { # chroot, commands; an empty environment
  folder=$root/$1
  shift
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
    unshare --mount --pid --fork chroot "$folder" sh -ec "mount -t proc proc /proc; $*"
}

echo "== $deb"
bare deb
cp "$deb" "$example" "$root/deb/tmp"
inside deb "apt-get -qq update && apt-get -qq install -y --no-install-recommends /tmp/$(basename "$deb") >/dev/null 2>&1; $use
  apt-get -qq install -y --no-install-recommends gcc libc6-dev pkg-config >/dev/null 2>&1
  cc -o example $(basename "$example") \$(pkg-config --cflags --libs eigenpair) -lm && ./example"
echo "== $archive"
bare archive
cp "$archive" "$root/archive/tmp"
inside archive "tar -C /opt -xzf /tmp/$(basename "$archive"); PATH=\$PATH:/opt/$(basename "$archive" .tar.gz)/bin; $use"
echo "packages: both run on a bare Debian 12"
