#!/bin/sh
# check_binary.sh FILE...: a program or library as it may be shipped. Every element of its rpath is absolute or begins with
# $ORIGIN (an empty one is the current directory); position independent; relocations read-only and bound at start; no
# executable stack; stack protector and fortified functions in use.
set -eu
bad=0
complain() { echo "$file: $1"; bad=1; }

check_rpath() {
  # a sentinel at the end keeps an empty last element
  paths=$(readelf -dW "$file" | sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\].*/\1/p')
  [ -n "$paths" ] || return 0
  rest=$paths:
  while [ -n "$rest" ]; do
    element=${rest%%:*}
    rest=${rest#*:}
    case $element in
      /*|'$ORIGIN'|'$ORIGIN'/*) ;;
      *) complain "rpath '$paths' has the element '$element', which depends on the current directory"; return ;;
    esac
  done
}

for file; do
  dynamic=$(readelf -dW "$file")
  headers=$(readelf -lW "$file")
  symbols=$(readelf --dyn-syms -W "$file")
  check_rpath
  readelf -hW "$file" | grep -q 'Type: *DYN' || complain "is not position independent"
  echo "$dynamic" | grep -Eq 'BIND_NOW|FLAGS_1.*NOW' || complain "is not bound at start (-z now)"
  if echo "$dynamic" | grep -q TEXTREL; then complain "has relocations in its text"; fi
  echo "$headers" | grep -q GNU_RELRO || complain "has no read-only relocations (-z relro)"
  echo "$headers" | grep 'GNU_STACK' | grep -q 'RW ' || complain "does not say that its stack is not executable"
  echo "$symbols" | grep -q __stack_chk_fail || complain "has no stack protector"
  echo "$symbols" | grep -Eq '__[a-z]*printf_chk' || complain "has no fortified functions"
done
[ $bad = 0 ] && echo "binaries: rpath and hardening are right"
exit $bad
