// {{name}}: an interpreter for wfhost. It reads checklists, and walks them.
//
//     # Before a release
//     - [ ] All tests pass
//     - [?] The release manager agrees
//
// `- [ ]` is an item that the agent does and checks off, `- [?]` one that only a person can say.
//
// Every function is pure: there is no clock, no randomness, no file, and nothing is remembered between two calls. What a
// call needs comes as its arguments. `bindings/interpreter.h` holds the contract's types; a function that gives a `result`
// returns true and fills `ret`, or returns false and fills `err`.

#include <stdlib.h>
#include <string.h>
#include "text.h"

#define E(name) exports_wfhost_engine_engine_##name
#define K(name) EXPORTS_WFHOST_ENGINE_ENGINE_##name
#define SUFFIX ".{{name}}.md"
#define SOME(value) {true, value}
#define NONE {0}

static const char SKILL[] =
#include "skill.inc"
    ;

// A list of one kind, with room for so many.
#define LIST(type, count) {(type *)malloc(sizeof(type) * (count)), 0}

// --- documents: text to definition, or to findings with their place

typedef struct { str text; bool person; } item;
typedef struct { str title; item *items; size_t count; E(list_diagnostic_t) findings; } checklist;

static str trimmed(str text) {
  while (text.len && (text.ptr[0] == ' ' || text.ptr[0] == '\t')) text.ptr++, text.len--;
  while (text.len && (text.ptr[text.len - 1] <= ' ')) text.len--;
  return text;
}

static bool read_item(str line, item *out) {
  if (line.len < 5 || memcmp(line.ptr, "- [", 3) || line.ptr[4] != ']') return false;
  if (line.ptr[3] != ' ' && line.ptr[3] != '?') return false;
  *out = (item){trimmed((str){line.ptr + 5, line.len - 5}), line.ptr[3] == '?'};
  return true;
}

// Takes the next line off a text.
static bool next_line(str *text, str *line) {
  if (!text->len) return false;
  size_t len = 0;
  while (len < text->len && text->ptr[len] != '\n') len++;
  *line = (str){text->ptr, len};
  while (line->len && line->ptr[line->len - 1] <= ' ') line->len--;
  size_t taken = len < text->len ? len + 1 : len;
  *text = (str){text->ptr + taken, text->len - taken};
  return true;
}

static bool is_utf8(str text) {
  for (size_t i = 0; i < text.len;) {
    uint8_t byte = text.ptr[i++];
    int more = byte < 0x80 ? 0 : byte >= 0xc2 && byte < 0xe0 ? 1 : byte >= 0xe0 && byte < 0xf0 ? 2 : byte >= 0xf0 && byte < 0xf5 ? 3 : -1;
    if (more < 0) return false;
    for (; more; more--, i++)
      if (i >= text.len || (text.ptr[i] & 0xc0) != 0x80) return false;
  }
  return true;
}

// Lines and columns count from 1, columns in characters. Line 0: of the whole file.
static void find_fault(checklist *list, const char *code, const char *message, const char *help, uint32_t number, str line) {
  E(diagnostic_t) finding = {K(SEVERITY_ERROR), lit(code), lit(message), SOME(lit(help)), NONE, NONE, NONE};
  if (number) {
    uint32_t columns = 1;
    for (size_t i = 0; i < line.len; i++) columns += (line.ptr[i] & 0xc0) != 0x80;
    finding.span.is_some = true;
    finding.span.val = (E(span_t)){{number, 1}, {number, columns}};
  }
  list->findings.ptr = realloc(list->findings.ptr, sizeof finding * (list->findings.len + 1));
  list->findings.ptr[list->findings.len++] = finding;
}

static checklist read_document(str text) {
  checklist list = {0};
  if (!is_utf8(text)) {
    find_fault(&list, "not-text", "the file is no UTF-8 text", "save it as UTF-8", 0, text);
    return list;
  }
  list.items = malloc(sizeof(item) * (text.len / 5 + 1));
  str line;
  for (uint32_t number = 1; next_line(&text, &line); number++) {
    item found;
    if (line.len > 1 && line.ptr[0] == '#' && line.ptr[1] == ' ') {
      if (list.title.len) find_fault(&list, "second-title", "a checklist has one title", "make it a file of its own", number, line);
      else list.title = trimmed((str){line.ptr + 2, line.len - 2});
    } else if (read_item(line, &found)) {
      if (!found.text.len) find_fault(&list, "empty-item", "an item without words", "say what is to be done", number, line);
      list.items[list.count++] = found;
    } else if (line.len) {
      find_fault(&list, "unknown-line", "neither a title nor an item",
                 "write `# TITLE`, `- [ ] ITEM` for the agent or `- [?] ITEM` for a person", number, line);
    }
  }
  if (!list.title.len) find_fault(&list, "no-title", "there is no title", "begin the file with `# TITLE`", 0, line);
  if (!list.count) find_fault(&list, "no-items", "there are no items", "add a line `- [ ] ITEM`", 0, line);
  return list;
}

static str node(size_t number) {
  text id = {0};
  put(&id, "item-");
  put_number(&id, number);
  return done(id);
}

// The definition is a text that every call can read in place: the title, then `a` or `p` and the words of each item.
static interpreter_list_u8_t packed(const checklist *list) {
  text code = {0};
  put_str(&code, list->title);
  for (size_t i = 0; i < list->count; i++) {
    put(&code, list->items[i].person ? "\np" : "\na");
    put_str(&code, list->items[i].text);
  }
  return (interpreter_list_u8_t){code.ptr, code.len};
}

// --- replies

static E(output_t) output(text value, bool is_error) { return (E(output_t)){NONE, done(value), NONE, is_error}; }

// A "no" that says in words what to do instead. It changes nothing.
static E(refusal_t) refused(const char *code, text message) {
  text value = {0};
  put(&value, "{\"refused\":");
  put_json(&value, lit(code));
  put(&value, ",\"message\":");
  put_json(&value, done(message));
  put(&value, "}");
  return (E(refusal_t)){lit(code), done(message), {0}, output(value, true)};
}

static bool refuse(E(refusal_t) * err, const char *code, const char *message) {
  text words = {0};
  put(&words, message);
  *err = refused(code, words);
  return false;
}

// --- a run: the state is a JSON list that says of each item `open`, `done`, or `no` if a person denied it

typedef struct { str title; item *items; char *marks; size_t count; } run;

static run standing(interpreter_list_u8_t *code, str state) {
  str rest = {code->ptr, code->len}, line;
  run at = {0};
  next_line(&rest, &at.title);
  at.items = malloc(sizeof(item) * (rest.len + 1));
  at.marks = malloc(rest.len + 1);
  while (next_line(&rest, &line)) at.items[at.count++] = (item){{line.ptr + 1, line.len - 1}, line.ptr[0] == 'p'};
  memset(at.marks, 'o', at.count);
  // The first letter of every second text between quotes.
  for (size_t i = 0, quotes = 0, n = 0; i + 1 < state.len && n < at.count; i++)
    if (state.ptr[i] == '"' && quotes++ % 2 == 0) at.marks[n++] = (char)state.ptr[i + 1];
  return at;
}

// The number of the first item of that mark, or 0.
static size_t first(const run *at, char mark) {
  for (size_t i = 0; i < at->count; i++)
    if (at->marks[i] == mark) return i + 1;
  return 0;
}

static E(output_t) told(const run *at, E(session_t) * session) {
  text open = {0}, value = {0};
  size_t done_count = 0;
  for (size_t i = 0; i < at->count; i++) {
    if (at->marks[i] == 'd') { done_count++; continue; }
    put(&open, open.len ? ",{\"item\":" : "{\"item\":");
    put_number(&open, i + 1);
    put(&open, ",\"text\":");
    put_json(&open, at->items[i].text);
    put(&open, at->items[i].person ? ",\"by\":\"a person\"}" : ",\"by\":\"you\"}");
  }
  put(&value, "{\"run\":");
  put_json(&value, session->id);
  put(&value, ",\"title\":");
  put_json(&value, at->title);
  put(&value, ",\"done\":");
  put_number(&value, done_count);
  put(&value, ",\"of\":");
  put_number(&value, at->count);
  put(&value, done_count == at->count ? ",\"finished\":true,\"open\":[" : ",\"finished\":false,\"open\":[");
  put_str(&value, done(open));
  put(&value, "]");
  if (first(at, 'n')) {
    put(&value, ",\"denied\":");
    put_number(&value, first(at, 'n'));
  }
  put(&value, "}");
  return output(value, false);
}

static E(request_t) request(const run *at, size_t number) {
  const item *one = &at->items[number - 1];
  E(request_t) request = {node(number), {K(NEED_ANSWER), {0}}, NONE};
  request.need.val.answer = (E(question_t)){
      one->person ? K(AUDIENCE_HUMAN) : K(AUDIENCE_AGENT), one->text, lit("{\"type\":\"boolean\",\"title\":\"done\"}")};
  return request;
}

static void turn(const run *at, E(session_t) * session, size_t number, const char *kind, E(turn_t) * ret) {
  text state = {0}, words = {0};
  put(&state, "[");
  for (size_t i = 0; i < at->count; i++) {
    put(&state, i ? "," : "");
    put(&state, at->marks[i] == 'd' ? "\"done\"" : at->marks[i] == 'n' ? "\"no\"" : "\"open\"");
  }
  put(&state, "]");
  E(entry_t) *entry = malloc(sizeof *entry);
  *entry = (E(entry_t)){node(number), lit(kind), NONE, NONE, NONE};
  *ret = (E(turn_t)){.state = done(state), .entries = {entry, 1}, .reply = told(at, session)};
  size_t denied = first(at, 'n'), open = first(at, 'o');
  if (denied) {
    put(&words, "a person said no to item ");
    put_number(&words, denied);
    ret->outcome.is_some = ret->outcome.val.is_err = true;
    ret->outcome.val.val.err = (E(failure_t)){K(MISHAP_DENIED), done(words), NONE};
  } else if (!open) {
    put(&words, "{\"done\":");
    put_number(&words, at->count);
    put(&words, "}");
    ret->outcome.is_some = true;
    ret->outcome.val.val.ok = done(words);
  } else {
    // What the session waits for: that the next item is done, as the agent or a person says.
    E(request_t) *wanted = malloc(sizeof *wanted);
    *wanted = request(at, open);
    ret->requests = (E(list_request_t)){wanted, 1};
    str *current = malloc(sizeof *current);
    *current = node(open);
    ret->current = (interpreter_list_string_t){current, 1};
  }
}

// --- tools: what an agent can call, and what each call means

static E(tool_t) tool(const char *name, const char *description, str properties, const char *required, bool read_only) {
  text schema = {0};
  put(&schema, "{\"type\":\"object\",\"properties\":{");
  put_str(&schema, properties);
  put(&schema, "},\"required\":");
  put(&schema, required);
  put(&schema, "}");
  return (E(tool_t)){lit(name), lit(name), lit(description), done(schema), NONE, read_only, false, read_only, false};
}

static bool target(E(call_t) * call, E(target_t) * ret, E(refusal_t) * err) {
  str id;
  if (!member_text(call->args, "run", &id)) return refuse(err, "no-run", "say which `run`; {{tool}}_start gives one");
  text words = {0};
  put(&words, "there is no run `");
  put_str(&words, id);
  put(&words, "`; {{tool}}_list shows them");
  *ret = (E(target_t)){SOME(id), NONE, SOME(refused("no-such-run", words).reply)};
  return true;
}

// --- the contract: every function of wit/engine.wit

void E(describe)(E(interpreter_t) * ret) {
  static str files[1], marks[2];
  files[0] = lit("*" SUFFIX);
  marks[0] = lit("- [ ]");
  marks[1] = lit("- [?]");
  *ret = (E(interpreter_t)){lit("{{name}}"), lit("0.1.0"), lit("Checklists"), {files, 1}, {marks, 2}, {0}, NONE, SOME(lit(SKILL))};
}

bool E(recognise)(E(document_t) * document, interpreter_list_string_t *ret) {
  str text = {document->bytes.ptr, document->bytes.len}, line;
  *ret = (interpreter_list_string_t){0};
  item found;
  if (!ends_with(document->path, SUFFIX)) return false;
  while (next_line(&text, &line))
    if (read_item(line, &found)) return true;
  return false;
}

void E(compile)(E(bundle_t) * bundle, E(compiled_t) * ret) {
  checklist list = read_document((str){bundle->main.bytes.ptr, bundle->main.bytes.len});
  *ret = (E(compiled_t)){{0}, list.findings};
  if (list.findings.len) return;
  str id = bundle->main.path;
  for (size_t i = 0; i < id.len; i++)
    if (id.ptr[i] == '/') id = (str){id.ptr + i + 1, id.len - i - 1}, i = (size_t)-1;
  if (ends_with(id, SUFFIX)) id.len -= strlen(SUFFIX);
  text words = {0};
  put_number(&words, list.count);
  put(&words, " items");
  E(definition_t) *definition = malloc(sizeof *definition);
  *definition = (E(definition_t)){
      .about = {id, list.title, done(words), NONE, lit("{}")},
      .graph = {node(1), LIST(E(node_t), list.count), LIST(E(edge_t), list.count)},
      .code = packed(&list),
  };
  for (size_t i = 0; i < list.count; i++) {
    uint8_t shape = list.items[i].person ? K(SHAPE_QUESTION) : K(SHAPE_ACTION);
    definition->graph.nodes.ptr[definition->graph.nodes.len++] = (E(node_t)){node(i + 1), list.items[i].text, shape};
    if (i) definition->graph.edges.ptr[definition->graph.edges.len++] = (E(edge_t)){node(i), node(i + 1), lit("")};
  }
  ret->definitions = (E(list_definition_t)){definition, 1};
}

void E(tools)(E(list_workflow_t) * workflows, E(list_tool_t) * ret) {
  const char *run = "\"run\":{\"type\":\"string\",\"description\":\"the run that {{tool}}_start gave\"}";
  text start = {0}, check = {0};
  put(&start, "\"checklist\":{\"type\":\"string\",\"description\":\"which checklist\",\"enum\":[");
  for (size_t i = 0; i < workflows->len; i++) {
    put(&start, i ? "," : "");
    put_json(&start, workflows->ptr[i].id);
  }
  put(&start, "]}");
  put(&check, run);
  put(&check, ",\"item\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"the number of the item that is done\"}");
  E(tool_t) *tools = malloc(sizeof *tools * 5);
  tools[0] = tool("{{tool}}_list", "List the checklists, and the runs that are not finished.", lit(""), "[]", true);
  tools[1] = tool("{{tool}}_start", "Begin a run of a checklist.", done(start), "[\"checklist\"]", false);
  tools[2] = tool("{{tool}}_check", "Check one item off, after it was done.", done(check), "[\"run\",\"item\"]", false);
  tools[3] = tool("{{tool}}_status", "Show what is done and what is still open.", lit(run), "[\"run\"]", true);
  tools[4] = tool("{{tool}}_trace", "Show who checked what, and when.", lit(run), "[\"run\"]", true);
  *ret = (E(list_tool_t)){tools, 5};
}

bool E(route)(E(call_t) * call, interpreter_list_string_t *workflows, E(action_t) * ret, E(refusal_t) * err) {
  // The host has not checked the arguments.
  if (same(call->tool, "{{tool}}_list")) {
    ret->tag = K(ACTION_CATALOGUE);
    ret->val.catalogue = (E(option_run_query_t))SOME(((E(run_query_t)){NONE, true, 20}));
    return true;
  }
  if (same(call->tool, "{{tool}}_start")) {
    str id = {0};
    text words = {0};
    member_text(call->args, "checklist", &id);
    put(&words, "`checklist` is one of:");
    for (size_t i = 0; i < workflows->len; i++) {
      str known = workflows->ptr[i];
      if (known.len == id.len && !memcmp(known.ptr, id.ptr, id.len)) {
        ret->tag = K(ACTION_START);
        ret->val.start = id;
        return true;
      }
      put(&words, " ");
      put_str(&words, known);
    }
    *err = refused("no-such-checklist", words);
    return false;
  }
  if (same(call->tool, "{{tool}}_check")) return ret->tag = K(ACTION_ANSWER), target(call, &ret->val.answer, err);
  if (same(call->tool, "{{tool}}_status")) return ret->tag = K(ACTION_STATUS), target(call, &ret->val.status, err);
  if (same(call->tool, "{{tool}}_trace")) {
    ret->tag = K(ACTION_TRACE);
    ret->val.trace = (E(page_t)){.after = NONE, .limit = 100};
    return target(call, &ret->val.trace.target, err);
  }
  return refuse(err, "no-such-tool", "there is no such tool");
}

void E(catalogue)(E(call_t) * call, E(list_workflow_t) * workflows, E(list_run_t) * runs, E(output_t) * ret) {
  text value = {0};
  put(&value, "{\"checklists\":[");
  for (size_t i = 0; i < workflows->len; i++) {
    put(&value, i ? ",{\"checklist\":" : "{\"checklist\":");
    put_json(&value, workflows->ptr[i].id);
    put(&value, ",\"title\":");
    put_json(&value, workflows->ptr[i].title);
    put(&value, ",\"about\":");
    put_json(&value, workflows->ptr[i].description);
    put(&value, "}");
  }
  put(&value, "],\"unfinished\":[");
  for (size_t i = 0; i < runs->len; i++) {
    put(&value, i ? ",{\"run\":" : "{\"run\":");
    put_json(&value, runs->ptr[i].session.id);
    put(&value, ",\"checklist\":");
    put_json(&value, runs->ptr[i].workflow);
    put(&value, "}");
  }
  put(&value, "]}");
  *ret = output(value, false);
}

bool E(evaluate)(str *language, str *expression, str *context, str *ret, E(diagnostic_t) * err) {
  *err = (E(diagnostic_t)){
      K(SEVERITY_ERROR), lit("no-such-language"), lit("checklists evaluate no expressions"), NONE, NONE, NONE, NONE};
  return false;
}

bool E(start)(interpreter_list_u8_t *code, E(session_t) * session, E(event_t) * event, E(turn_t) * ret, E(refusal_t) * err) {
  run at = standing(code, lit("[]"));
  turn(&at, session, 1, "started", ret);
  return true;
}

static bool checked(run *at, E(session_t) * session, E(call_t) * call, E(turn_t) * ret, E(refusal_t) * err) {
  uint64_t number = 0;
  if (!member_number(call->args, "item", &number) || number < 1 || number > at->count)
    return refuse(err, "no-such-item", "`item` is the number of an item");
  if (at->marks[number - 1] == 'd') return refuse(err, "already-done", "this item is done");
  if (at->items[number - 1].person) return refuse(err, "for-a-person", "only a person can say this item");
  at->marks[number - 1] = 'd';
  turn(at, session, number, "checked", ret);
  return true;
}

static bool said(run *at, E(session_t) * session, E(reply_t) * reply, E(turn_t) * ret, E(refusal_t) * err) {
  if (reply->value.is_err) return refuse(err, "unanswered", "nobody said it");
  uint64_t number = 0;
  for (size_t i = strlen("item-"); i < reply->request.len; i++) number = number * 10 + (reply->request.ptr[i] - '0');
  if (number < 1 || number > at->count) return refuse(err, "no-such-item", "there is no such item");
  bool yes = same(reply->value.val.ok, "true");
  at->marks[number - 1] = yes ? 'd' : 'n';
  turn(at, session, number, yes ? "agreed" : "denied", ret);
  return true;
}

bool E(answer)(interpreter_list_u8_t *code, E(session_t) * session, str *state, E(memory_t) * memory, E(event_t) * event,
               E(turn_t) * ret, E(refusal_t) * err) {
  run at = standing(code, *state);
  if (first(&at, 'n') || !first(&at, 'o')) return refuse(err, "over", "this run is over");
  if (event->input.tag == K(INPUT_CALL)) return checked(&at, session, &event->input.val.call, ret, err);
  if (event->input.tag == K(INPUT_REPLY)) return said(&at, session, &event->input.val.reply, ret, err);
  return refuse(err, "not-here", "a run is begun once");
}

void E(status)(interpreter_list_u8_t *code, E(session_t) * session, str *state, E(output_t) * ret) {
  run at = standing(code, *state);
  *ret = told(&at, session);
}

void E(trace)(interpreter_list_u8_t *code, E(session_t) * session, str *state, E(journal_t) * journal, E(output_t) * ret) {
  text value = {0};
  put(&value, "{\"run\":");
  put_json(&value, session->id);
  put(&value, ",\"total\":");
  put_number(&value, journal->total);
  put(&value, ",\"entries\":[");
  for (size_t i = 0; i < journal->entries.len; i++) {
    E(kept_t) *kept = &journal->entries.ptr[i];
    const char *who = kept->source == K(SOURCE_AGENT)      ? "agent"
                      : kept->source == K(SOURCE_HUMAN)    ? "person"
                      : kept->source == K(SOURCE_OPERATOR) ? "operator"
                                                           : "host";
    put(&value, i ? ",{\"seq\":" : "{\"seq\":");
    put_number(&value, kept->seq);
    put(&value, ",\"at\":");
    put_number(&value, kept->at);
    put(&value, ",\"who\":");
    put_json(&value, lit(who));
    put(&value, ",\"what\":");
    put_json(&value, kept->entry.kind);
    put(&value, ",\"item\":");
    put_json(&value, kept->entry.node);
    put(&value, "}");
  }
  put(&value, "]}");
  *ret = output(value, false);
}

bool E(render)(interpreter_list_u8_t *code, E(session_t) * session, str *state, E(journal_t) * journal, str *view, str *args,
               str *ret, E(refusal_t) * err) {
  return refuse(err, "no-such-view", "there are no views");
}
