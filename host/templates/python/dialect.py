"""{{name}}: an interpreter for wfhost. It reads checklists, and walks them.

    # Before a release
    - [ ] All tests pass
    - [?] The release manager agrees

`- [ ]` is an item that the agent does and checks off, `- [?]` one that only a person can say.

Every function is pure: there is no clock, no randomness, no file, and nothing is remembered between two calls. What a call
needs comes as its arguments. `componentize-py --wit-path wit --world interpreter bindings .` writes the contract's types as
Python, for an editor.
"""

import json
import re

from componentize_py_types import Err, Ok
from wit_world import exports
from wit_world.exports.engine import (
    Action_Answer, Action_Catalogue, Action_Start, Action_Status, Action_Trace, Audience, Compiled, Definition, Diagnostic,
    Edge, Entry, Failure, Graph, Input_Call, Input_Reply, Interpreter, Keeping, Mishap, Need_Answer, Node, Output, Page,
    Position, Question, Refusal, Request, RunQuery, Severity, Shape, Source, Span, Target, Tool, Turn, Workflow,
)

from skill import SKILL

SUFFIX = ".{{name}}.md"

# --- documents: text to definition, or to findings with their place


def item(line):
    found = re.match(r"- \[([ ?])\](.*)$", line)
    return found and {"text": found[2].strip(), "person": found[1] == "?"}


def error(code, message, help, line=None, length=0):
    span = line and Span(Position(line, 1), Position(line, length + 1))
    return Diagnostic(Severity.ERROR, code, message, help, None, None, span)


def read(content):
    """Title, items and findings. A line that cannot be read leaves the others to be read as well."""
    try:
        source = content.decode("utf-8")
    except UnicodeDecodeError:
        return "", [], [error("not-text", "the file is no UTF-8 text", "save it as UTF-8")]
    title, items, findings = "", [], []
    for number, line in enumerate(source.split("\n"), 1):
        line = line.rstrip()
        found = item(line)
        if line.startswith("# "):
            if title:
                help = "make it a file of its own"
                findings.append(error("second-title", "a checklist has one title", help, number, len(line)))
            title = title or line[2:].strip()
        elif found:
            if not found["text"]:
                help = "say what is to be done"
                findings.append(error("empty-item", "an item without words", help, number, len(line)))
            items.append(found)
        elif line:
            help = "write `# TITLE`, `- [ ] ITEM` for the agent or `- [?] ITEM` for a person"
            findings.append(error("unknown-line", "neither a title nor an item", help, number, len(line)))
    if not title:
        findings.append(error("no-title", "there is no title", "begin the file with `# TITLE`"))
    if not items:
        findings.append(error("no-items", "there are no items", "add a line `- [ ] ITEM`"))
    return title, items, findings


def definition(path, title, items):
    ids = [f"item-{number}" for number in range(1, len(items) + 1)]
    shapes = [Shape.QUESTION if one["person"] else Shape.ACTION for one in items]
    return Definition(
        about=Workflow(path.split("/")[-1].removesuffix(SUFFIX), title, f"{len(items)} items", None, "{}"),
        graph=Graph(
            entry="item-1",
            nodes=[Node(id, one["text"], shape) for id, one, shape in zip(ids, items, shapes)],
            edges=[Edge(source, target, "") for source, target in zip(ids, ids[1:])],
        ),
        views=[],
        servers=[],
        instructions=None,
        sessions=Keeping(False, None, None),
        # Handed back at every call. Small here; a large document is better laid out to be read in place.
        code=json.dumps({"title": title, "items": items}).encode(),
    )


# --- replies


def output(value, is_error=False):
    return Output(None, json.dumps(value, ensure_ascii=False), None, is_error)


def refusal(code, message):
    """A "no" that says in words what to do instead: raise it. It changes nothing."""
    return Err(Refusal(code, message, [], output({"refused": code, "message": message}, True)))


# --- a run: the state is a list that says of each item whether it is `open`, `done` or `denied`


def standing(code, state):
    at = json.loads(code)
    marks = json.loads(state)
    for index, one in enumerate(at["items"]):
        one["mark"] = marks[index] if index < len(marks) else "open"
    return at


def first(at, mark):
    """The number of the first item of that mark, or 0."""
    return next((number for number, one in enumerate(at["items"], 1) if one["mark"] == mark), 0)


def told(at, session):
    pairs = [(number, one) for number, one in enumerate(at["items"], 1) if one["mark"] != "done"]
    still_open = [
        {"item": number, "text": one["text"], "by": "a person" if one["person"] else "you"} for number, one in pairs
    ]
    value = {"run": session.id, "title": at["title"], "done": len(at["items"]) - len(pairs), "of": len(at["items"])}
    value |= {"finished": not pairs, "open": still_open}
    if first(at, "denied"):
        value["denied"] = first(at, "denied")
    return output(value)


def entry(number, kind):
    return Entry(f"item-{number}", kind, None, None, None)


def turn(at, session, line):
    denied, still_open = first(at, "denied"), first(at, "open")
    outcome = None
    if denied:
        outcome = Err(Failure(Mishap.DENIED, f"a person said no to item {denied}", None))
    elif not still_open:
        outcome = Ok(json.dumps({"done": len(at["items"])}))
    number = 0 if outcome else still_open
    return Turn(
        state=json.dumps([one["mark"] for one in at["items"]]),
        entries=[line],
        remember=[],
        window=0,
        progress=[],
        # What the session waits for: that the next item is done, as the agent or a person says.
        requests=[request(at["items"][number - 1], number)] if number else [],
        current=[f"item-{number}"] if number else [],
        outcome=outcome,
        reply=told(at, session),
    )


def request(one, number):
    audience = Audience.HUMAN if one["person"] else Audience.AGENT
    question = Question(audience, one["text"], json.dumps({"type": "boolean", "title": "done"}))
    return Request(f"item-{number}", Need_Answer(question), None)


def checked(at, session, number):
    if type(number) is not int or not 1 <= number <= len(at["items"]):
        raise refusal("no-such-item", f"`item` is a number from 1 to {len(at['items'])}")
    one = at["items"][number - 1]
    if one["mark"] == "done":
        raise refusal("already-done", f"item {number} is done")
    if one["person"]:
        raise refusal("for-a-person", f"only a person can say item {number}")
    one["mark"] = "done"
    return turn(at, session, entry(number, "checked"))


def said(at, session, reply):
    if isinstance(reply.value, Err):
        raise refusal("unanswered", f"nobody said it: {reply.value.value.message}")
    number = int(reply.request.removeprefix("item-"))
    yes = reply.value.value == "true"
    at["items"][number - 1]["mark"] = "done" if yes else "denied"
    return turn(at, session, entry(number, "agreed" if yes else "denied"))


# --- tools: what an agent can call, and what each call means


def tool(name, description, properties, required, read_only):
    schema = json.dumps({"type": "object", "properties": properties, "required": required})
    return Tool(
        name=name,
        title=name.replace("_", " "),
        description=description,
        input_schema=schema,
        output_schema=None,
        read_only=read_only,
        destructive=False,
        idempotent=read_only,
        open_world=False,
    )


def target(run):
    if not isinstance(run, str):
        raise refusal("no-run", "say which `run`; {{tool}}_start gives one")
    absent = refusal("no-such-run", f"there is no run `{run}`; {{tool}}_list shows them").value.reply
    return Target(run, None, absent)


# --- the contract: every function of wit/engine.wit


class Engine(exports.Engine):
    def describe(self):
        return Interpreter(
            name="{{name}}",
            version="0.1.0",
            title="Checklists",
            files=[f"*{SUFFIX}"],
            marks=["- [ ]", "- [?]"],
            languages=[],
            schema=None,
            skill=SKILL,
        )

    def recognise(self, document):
        lines = document.bytes.decode("utf-8", "replace").split("\n")
        return [] if document.path.endswith(SUFFIX) and any(item(line) for line in lines) else None

    def compile(self, bundle):
        title, items, findings = read(bundle.main.bytes)
        return Compiled([] if findings else [definition(bundle.main.path, title, items)], findings)

    def tools(self, workflows):
        run = {"type": "string", "description": "the run that {{tool}}_start gave"}
        number = {"type": "integer", "minimum": 1, "description": "the number of the item that is done"}
        checklist = {"type": "string", "enum": [one.id for one in workflows], "description": "which checklist"}
        return [
            tool("{{tool}}_list", "List the checklists, and the runs that are not finished.", {}, [], True),
            tool("{{tool}}_start", "Begin a run of a checklist.", {"checklist": checklist}, ["checklist"], False),
            tool("{{tool}}_check", "Check one item off, after it was done.", {"run": run, "item": number}, ["run", "item"], False),
            tool("{{tool}}_status", "Show what is done and what is still open.", {"run": run}, ["run"], True),
            tool("{{tool}}_trace", "Show who checked what, and when.", {"run": run}, ["run"], True),
        ]

    def route(self, call, workflows):
        # The host has not checked the arguments.
        args = json.loads(call.args)
        args = args if isinstance(args, dict) else {}
        match call.tool:
            case "{{tool}}_list":
                return Action_Catalogue(RunQuery(None, True, 20))
            case "{{tool}}_start":
                if args.get("checklist") not in workflows:
                    raise refusal("no-such-checklist", f"`checklist` is one of: {', '.join(workflows)}")
                return Action_Start(args["checklist"])
            case "{{tool}}_check":
                return Action_Answer(target(args.get("run")))
            case "{{tool}}_status":
                return Action_Status(target(args.get("run")))
            case "{{tool}}_trace":
                return Action_Trace(Page(target(args.get("run")), None, 100))
            case other:
                raise refusal("no-such-tool", f"there is no tool `{other}`")

    def catalogue(self, call, workflows, runs):
        checklists = [{"checklist": one.id, "title": one.title, "about": one.description} for one in workflows]
        return output({"checklists": checklists, "unfinished": [{"run": one.session.id, "checklist": one.workflow} for one in runs]})

    def evaluate(self, language, expression, context):
        raise Err(error("no-such-language", f"checklists evaluate no `{language}`", None))

    def start(self, code, session, event):
        return turn(standing(code, "[]"), session, entry(1, "started"))

    def answer(self, code, session, state, memory, event):
        at = standing(code, state)
        if first(at, "denied") or not first(at, "open"):
            raise refusal("over", "this run is over")
        match event.input:
            case Input_Call(call):
                args = json.loads(call.args)
                return checked(at, session, args.get("item") if isinstance(args, dict) else None)
            case Input_Reply(reply):
                return said(at, session, reply)
            case _:
                raise refusal("not-here", "a run is begun once")

    def status(self, code, session, state):
        return told(standing(code, state), session)

    def trace(self, code, session, state, journal):
        who = {Source.AGENT: "agent", Source.HUMAN: "person", Source.OPERATOR: "operator"}
        entries = [
            {"seq": one.seq, "at": one.at, "who": who.get(one.source, "host"), "what": one.entry.kind, "item": one.entry.node}
            for one in journal.entries
        ]
        return output({"run": session.id, "total": journal.total, "entries": entries})

    def render(self, code, session, state, journal, view, args):
        raise refusal("no-such-view", f"there is no view `{view}`")
