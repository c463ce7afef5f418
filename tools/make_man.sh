#!/bin/sh
# Man pages from the program's own help, so that there is one text: make_man.sh PROGRAM FOLDER
set -eu
program=$1 folder=$2
version=$("$program" --version | cut -d' ' -f2)
mkdir -p "$folder"
page() { # name, one line, text on standard input
  printf '.TH %s 1 "" "eigenpair %s" "User commands"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n' \
    "$(echo "$1" | tr a-z A-Z)" "$version" "$1" "$2"
  sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\([.']\)/\\\\\&\1/"
  printf '.fi\n.SH EXIT STATUS\n0 done, 1 failed while working, 2 wrong usage or bad input, 130 interrupted (work saved).\n'
}
"$program" | page eigenpair "wide contrastive models" >"$folder/eigenpair.1"
for c in $("$program" | sed -n 's/^  eigenpair \([a-z]*\)  *[a-z].*/\1/p' | sort -u); do
  line=$("$program" help "$c" | sed -n "1s/^eigenpair $c: //p")
  [ -n "$line" ] || continue
  "$program" help "$c" | page "eigenpair-$c" "$line" >"$folder/eigenpair-$c.1"
done
