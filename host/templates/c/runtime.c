// What a C library would give. Every call into a component gets a fresh instance, so memory is handed out and never taken
// back: the host throws the whole instance away after the call.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern unsigned char __heap_base;
static uintptr_t top;

void abort(void) { __builtin_trap(); }

// Each piece begins with its size, for realloc.
void *malloc(size_t bytes) {
  if (!top) top = (uintptr_t)&__heap_base;
  uintptr_t at = (top + 15) & ~(uintptr_t)15;
  if (bytes > UINT32_MAX - at - 16) abort();
  uintptr_t end = at + 16 + bytes;
  uintptr_t have = __builtin_wasm_memory_size(0) << 16;
  if (end > have && __builtin_wasm_memory_grow(0, (end - have + 65535) >> 16) == (size_t)-1) abort();
  *(size_t *)at = bytes;
  top = end;
  return (void *)(at + 16);
}

void *realloc(void *old, size_t bytes) {
  void *fresh = malloc(bytes);
  if (old) {
    size_t had = *(size_t *)((char *)old - 16);
    memcpy(fresh, old, had < bytes ? had : bytes);
  }
  return fresh;
}

void free(void *old) { (void)old; }

void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) ((volatile char *)to)[i] = ((const char *)from)[i];
  return to;
}

void *memset(void *to, int value, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) ((volatile char *)to)[i] = (char)value;
  return to;
}

int memcmp(const void *a, const void *b, size_t bytes) {
  const unsigned char *x = a, *y = b;
  for (size_t i = 0; i < bytes; i++)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}

size_t strlen(const char *text) {
  const char *end = text;
  while (*end) end++;
  return (size_t)(end - text);
}
