#include "text.h"
#include <stdlib.h>
#include <string.h>

str lit(const char *words) { return (str){(uint8_t *)words, strlen(words)}; }

bool same(str a, const char *b) { return a.len == strlen(b) && !memcmp(a.ptr, b, a.len); }

bool ends_with(str words, const char *end) {
  size_t len = strlen(end);
  return words.len >= len && !memcmp(words.ptr + words.len - len, end, len);
}

static void put_bytes(text *to, const void *bytes, size_t len) {
  if (to->len + len > to->room) {
    to->room = 2 * (to->len + len) + 64;
    to->ptr = realloc(to->ptr, to->room);
  }
  memcpy(to->ptr + to->len, bytes, len);
  to->len += len;
}

void put(text *to, const char *words) { put_bytes(to, words, strlen(words)); }

void put_str(text *to, str words) { put_bytes(to, words.ptr, words.len); }

void put_number(text *to, uint64_t number) {
  char digits[20];
  size_t at = sizeof digits;
  do digits[--at] = (char)('0' + number % 10);
  while (number /= 10);
  put_bytes(to, digits + at, sizeof digits - at);
}

void put_json(text *to, str words) {
  put(to, "\"");
  for (size_t i = 0; i < words.len; i++) {
    uint8_t byte = words.ptr[i];
    if (byte == '"' || byte == '\\') put(to, "\\");
    if (byte < 0x20) {
      const char *hex = "0123456789abcdef";
      char escape[] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15], 0};
      put(to, escape);
    } else {
      put_bytes(to, &byte, 1);
    }
  }
  put(to, "\"");
}

str done(text from) { return (str){from.ptr, from.len}; }

// --- reading JSON that the host has made, so it is well formed

typedef struct { const uint8_t *at, *end; } reader;

static void space(reader *in) {
  while (in->at < in->end && (*in->at == ' ' || *in->at == '\n' || *in->at == '\t' || *in->at == '\r')) in->at++;
}

static unsigned hex4(const uint8_t *at) {
  unsigned value = 0;
  for (int i = 0; i < 4; i++) {
    uint8_t c = at[i];
    value = value << 4 | (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return value;
}

static void put_char(text *to, unsigned c) {
  uint8_t bytes[4];
  size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = len; i-- > 1; c >>= 6) bytes[i] = 0x80 | (c & 0x3f);
  bytes[0] = (uint8_t)(len == 1 ? c : (0xf0 << (4 - len)) | c);
  put_bytes(to, bytes, len);
}

static str string(reader *in) {
  text out = {0};
  for (in->at++; in->at < in->end && *in->at != '"'; in->at++) {
    if (*in->at != '\\') {
      put_bytes(&out, in->at, 1);
      continue;
    }
    uint8_t c = *++in->at;
    if (c == 'u') {
      unsigned unit = hex4(in->at + 1);
      in->at += 4;
      if (unit >= 0xd800 && unit < 0xdc00 && in->end - in->at > 6 && in->at[1] == '\\') {
        unit = 0x10000 + ((unit - 0xd800) << 10) + (hex4(in->at + 3) - 0xdc00);
        in->at += 6;
      }
      put_char(&out, unit);
    } else {
      const char *names = "nrtbf", *means = "\n\r\t\b\f";
      for (int i = 0; i < 5; i++)
        if (names[i] == c) c = (uint8_t)means[i];
      put_bytes(&out, &c, 1);
    }
  }
  in->at++;
  return done(out);
}

static void skip(reader *in) {
  int depth = 0;
  do {
    space(in);
    if (in->at >= in->end) return;
    uint8_t c = *in->at;
    if (c == '"') {
      string(in);
    } else {
      depth += (c == '{' || c == '[') - (c == '}' || c == ']');
      in->at++;
      if (!depth && c != '}' && c != ']')
        while (in->at < in->end && *in->at != ',' && *in->at != '}') in->at++;
    }
  } while (depth > 0);
}

// The reader stands at the value of that member afterwards.
static bool find(reader *in, const char *name) {
  space(in);
  if (in->at >= in->end || *in->at != '{') return false;
  in->at++;
  for (;;) {
    space(in);
    if (in->at >= in->end || *in->at != '"') return false;
    bool here = same(string(in), name);
    space(in);
    in->at++;
    space(in);
    if (here) return true;
    skip(in);
    space(in);
    in->at++;
  }
}

bool member_text(str object, const char *name, str *value) {
  reader in = {object.ptr, object.ptr + object.len};
  if (!find(&in, name) || *in.at != '"') return false;
  *value = string(&in);
  return true;
}

bool member_number(str object, const char *name, uint64_t *value) {
  reader in = {object.ptr, object.ptr + object.len};
  if (!find(&in, name) || *in.at < '0' || *in.at > '9') return false;
  *value = 0;
  for (; in.at < in.end && *in.at >= '0' && *in.at <= '9'; in.at++) {
    if (*value > UINT32_MAX) return false;
    *value = *value * 10 + (*in.at - '0');
  }
  // 1.5 and 1e3 are no whole numbers here.
  return in.at >= in.end || (*in.at != '.' && *in.at != 'e' && *in.at != 'E');
}
