#pragma once
/* A file put into the library as it is. EP_EMBED(name, "path"): name is its first byte, name_end one past its last, where
 * a zero byte stands. */
#define EP_EMBED(name, path)          \
  __asm__(                            \
      ".pushsection .rodata\n"        \
      ".balign 16\n"                  \
      ".hidden " #name                \
      "\n"                            \
      ".hidden " #name                \
      "_end\n"                        \
      ".global " #name                \
      "\n"                            \
      ".global " #name "_end\n" #name \
      ":\n"                           \
      ".incbin \"" path "\"\n" #name  \
      "_end:\n"                       \
      ".byte 0\n"                     \
      ".popsection\n");               \
  extern const unsigned char name[], name##_end[]
