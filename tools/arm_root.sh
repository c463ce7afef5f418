#!/bin/sh
# arm_root.sh ROOT: unpacks what the library needs of Debian's arm64 packages, with all that these need, into ROOT. Nothing of
# the system is changed: apt gets folders of its own.
set -eu
[ -e "$1/done" ] && exit 0
mkdir -p "$1/apt/lists/partial" "$1/apt/cache/archives/partial"
root=$(cd "$1" && pwd)
: >"$root/apt/status"
arm() {
  apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$root/apt" -o Dir::State::lists="$root/apt/lists" \
    -o Dir::State::status="$root/apt/status" -o Dir::Cache="$root/apt/cache" -o Debug::NoLocking=1 "$@"
}
arm update
arm install -y --no-install-recommends --download-only libc6-dev libgomp1 libopenblas-openmp-dev liblapacke-dev librandom123-dev \
  libjansson-dev libzip-dev libsundials-dev liblbfgs-dev zlib1g-dev libpng-dev libjpeg-dev libcmocka-dev >"$root/apt/log"
for package in "$root"/apt/cache/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
find "$root" -type l -lname '/*' | while read -r link; do ln -snfr "$root$(readlink "$link")" "$link"; done # links stay within
rm -r "$root/apt"
touch "$root/done"
