#!/bin/sh
# A file includes its own layer and lower ones only: core < data < model < ... < report < study < cli.
# A header of include/eigenpair (public) or src/private/eigenpair belongs to the layer of the source that implements it.
set -eu
cd "$(dirname "$0")/.."
layers="core data model objective spectral kernel map method theory probe report study"
headers="status:core comm:core matrix:core random:core options:core run:core machine:core packed:core ode:core json:core powerlaw:core
  array:data augment:data synthetic:data pairs:data dataset:data
  reader:spectral activation:model network:model stream:model objective:objective subspace:spectral eigen:spectral retraction:spectral kernel:kernel analytic:kernel squared:kernel features:map closed:spectral theory:theory method:method sums:method scale:method views:method figure:report claim:study compare:study eigenpair:probe probe:probe neighbours:probe report:report linear:spectral descent:theory lee:theory dynamics:theory learnability:theory domain:theory regression:theory regress:theory covariance:objective optima:theory optima_figures:report bounds:theory reproduce:study"

height() { # place of a layer in the list
  n=0
  for l in $layers; do n=$((n + 1)); [ "$l" = "$1" ] && echo $n && return; done
  echo "check_layers: '$1' is no layer" >&2; exit 1
}
layer_of_header() {
  for h in $headers; do [ "${h%%:*}" = "$1" ] && echo "${h#*:}" && return; done
  echo "check_layers: include/eigenpair/$1.h is in no layer; add it to tools/check_layers.sh" >&2; exit 1
}
bad=0
for f in src/*/*.c src/*/*.h src/private/eigenpair/*.h include/eigenpair/*.h; do
  case $f in src/private/*) mine=$(layer_of_header "$(basename "$f" .h)") ;; src/*) mine=$(echo "$f" | cut -d/ -f2) ;; *) mine=$(layer_of_header "$(basename "$f" .h)") ;; esac
  for i in $(sed -n 's/^ *# *include *[<"]\([^>"]*\)[>"].*/\1/p' "$f"); do
    case $i in
      eigenpair/*) theirs=$(layer_of_header "$(basename "$i" .h)") ;;
      */*.h) theirs=${i%%/*}; case " $layers " in *" $theirs "*) ;; *) continue ;; esac ;;
      *) continue ;;
    esac
    if [ "$(height "$theirs")" -gt "$(height "$mine")" ]; then
      echo "$f ($mine) includes $i ($theirs): a higher layer"; bad=1
    fi
  done
done
# Only products.c and factor.c (and run.c, for its build) know BLAS and LAPACK; nothing prints or exits.
if grep -lE '#include <(cblas|lapacke)\.h>' src/*/*.c | grep -vE 'core/(blas|products|factor|run)\.c'; then
  echo "BLAS outside core/products.c"; bad=1
fi
if grep -nE '\b(printf|puts|abort|exit) *\(' src/*/*.c; then echo "the library prints or exits"; bad=1; fi
# Options are texts at the door alone (ep_fit_choose is the last of it): below, they are numbers or rows of a table.
if grep -nE 'strn?cmp\([^,]*(fit|objective|closed|net|run|feature|data|pair|eigen|analytic)(\.|->)[a-z_]+, ' src/*/*.c | grep -v '^src/method/auto.c'; then
  echo "an option is compared as text"; bad=1
fi
[ $bad = 0 ] && echo "layers: clean"
exit $bad
