#pragma once
/* Objects of the process, as dl_iterate_phdr (_GNU_SOURCE) hands them out. */
#include <link.h>
#include <stdbool.h>
#include <stdint.h>

static inline bool ep_object_holds(const struct dl_phdr_info *object, uintptr_t address) {
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    const uintptr_t first = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_LOAD && address >= first && address - first < part->p_memsz) return true;
  }
  return false;
}
