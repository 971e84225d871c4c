// Texts that grow, and as much of JSON as a dialect needs: writing strings and numbers, and finding a member of an object.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bindings/interpreter.h"

typedef interpreter_string_t str;

// A text that exists: a literal, or bytes of an argument.
str lit(const char *text);
bool same(str a, const char *b);
bool ends_with(str text, const char *end);

// A text in the making.
typedef struct { uint8_t *ptr; size_t len, room; } text;
void put(text *to, const char *words);
void put_str(text *to, str words);
void put_number(text *to, uint64_t number);
// As a JSON string, quotes and all.
void put_json(text *to, str words);
str done(text from);

// The member of a JSON object as a text or a whole number. False: it is not there, or is something else.
bool member_text(str object, const char *name, str *value);
bool member_number(str object, const char *name, uint64_t *value);
