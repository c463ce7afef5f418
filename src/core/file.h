#pragma once
/* Files are read whole, and written whole or not at all. */
#include <eigenpair/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Reads a file, unpacking it if it is gzipped. *data is for ep_release; one zero byte follows it. */
ep_status ep_file_read(unsigned char **data, size_t *size, const char *path);
/* The same for bytes already in memory: data stays the caller's; *out is for ep_release. */
ep_status ep_gunzip(unsigned char **out, size_t *out_size, const unsigned char *data, size_t size,
                    const char *name);

/* A file open to read; nobody waits for the other end of a fifo. NULL: errno says why. */
FILE *ep_file_stream(const char *path);

/* So many bytes of a file, unpacked or not, are within what --memory leaves; asked before they are allocated. */
ep_status ep_file_room(double bytes, const char *name);

/* A file in the making, in the folder of its final place under a temporary name. */
typedef struct {
  char path[1024];   /* as it was asked for, for messages */
  char target[1024]; /* links followed */
  char temporary[1100];
  FILE *stream; /* open for reading and writing */
} ep_file;

/* What is not a regular file is refused; one that is replaced keeps its mode. */
ep_status ep_file_open(ep_file *f, const char *path);
bool ep_file_is_nothing(const ep_file *f); /* opened by a rank above 0: what is written is lost */
ep_status ep_file_commit(ep_file *f); /* flush, sync, rename; on failure nothing is left behind */
void ep_file_discard(ep_file *f);     /* fine after commit */
/* Can a file be made there? For saying so before hours of work. Removes what killed programs left in that folder. */
ep_status ep_file_check_writable(const char *path);
ep_status ep_file_write_text(const char *path, const char *text);
/* Do two names mean one file, which need not be there yet? */
bool ep_file_same(const char *a, const char *b);
/* The folder and those above it, where they are not yet there. Removes what killed programs left in it. */
ep_status ep_folder_make(const char *path);
/* The files in a folder and the folder itself; folders within stay. */
void ep_folder_remove(const char *path);
