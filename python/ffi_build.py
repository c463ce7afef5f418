"""The library as cffi sees it: declarations are taken from the public headers, none is written here.

The C compiler expands include/eigenpair/eigenpair.h; what comes from our own headers is kept, without the bodies of inline
functions and without attributes. The extension is compiled against the same headers, so the compiler checks every one."""
import pathlib
import re
import subprocess

import cffi

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"

JANSSON = """
typedef struct { ...; } json_t;
void json_decref(json_t *json);
json_t *json_loads(const char *input, size_t flags, void *error);
char *json_dumps(const json_t *json, size_t flags);
void free(void *memory);
"""
SOURCE = r"""
#include <eigenpair/eigenpair.h>
#include <stdlib.h>
"""
CALLBACK = 'extern "Python" void eigenpair_progress(void *user, const char *what, double done, double total);\n'


def expanded():
    """Our headers' own text, macros expanded."""
    text = subprocess.run(["cc", "-E", f"-I{INCLUDE}", str(INCLUDE / "eigenpair/eigenpair.h")], check=True,
                          capture_output=True, text=True).stdout
    ours, kept = False, []
    for line in text.splitlines():
        marker = re.match(r'# \d+ "(.*?)"', line)
        if marker:
            ours = marker[1].startswith(str(INCLUDE))
        elif ours and not line.startswith("#"):
            kept.append(line)
    return "\n".join(kept)


def without_bodies(text):
    """Drops definitions of static inline functions."""
    out = []
    while True:
        start = text.find("static inline")
        if start < 0:
            return "".join(out) + text
        out.append(text[:start])
        depth, end = 0, text.index("{", start)
        while True:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
            if depth == 0:
                break
        text = text[end:]


def declarations():
    text = without_bodies(expanded())
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", text)
    text = re.sub(r"^.*pragma.*$", "", text, flags=re.M)
    return JANSSON + text + CALLBACK


ffibuilder = cffi.FFI()
ffibuilder.cdef(declarations())
ffibuilder.set_source("eigenpair._library", SOURCE, include_dirs=[str(INCLUDE)], libraries=["eigenpair", "jansson"],
                      extra_link_args=["-Wl,--disable-new-dtags,-rpath,$ORIGIN"])
