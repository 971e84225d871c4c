// As much of <stdlib.h> as is used: there is no C library inside a component that imports nothing.
#pragma once
#include <stddef.h>
void *malloc(size_t bytes);
void *realloc(void *old, size_t bytes);
void free(void *old);
_Noreturn void abort(void);
