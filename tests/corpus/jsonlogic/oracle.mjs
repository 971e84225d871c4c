// Writes outcomes.json: what json-logic-js makes of every case of suites/, of every pair of odd values, and of random rules.
// It needs node and the package, and is not run by the tests:
//     npm install json-logic-js@2.0.5 && node oracle.mjs
import { readFileSync, writeFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative, resolve } from "node:path";

const require = createRequire(resolve("package.json"));
const logic = require("json-logic-js");
const version = JSON.parse(readFileSync(require.resolve("json-logic-js/package.json"))).version;
const here = import.meta.dirname;
console.log = () => {};

// What JSON cannot say: {"$": "NaN"}, {"$": "undefined"}. The sign of zero is not told, and half of a surrogate pair is U+FFFD.
function plain(value) {
  if (value === undefined || typeof value === "function") return { $: "undefined" };
  if (typeof value === "number" && !Number.isFinite(value)) return { $: String(value) };
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(plain);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
  }
  return value;
}

// An outcome is [value], or the text of the error.
function outcome(rule, data) {
  try {
    // A copy, as if each value had come off the wire: a list is the same list only if it has one place.
    return [plain(logic.apply(rule, JSON.parse(JSON.stringify(data ?? null))))];
  } catch (error) {
    return error.message;
  }
}

function files(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? files(path) : path.endsWith(".json") ? [path] : [];
  }).sort();
}

// The remarks between the cases are no cases.
const suites = {};
for (const file of files(join(here, "suites"))) {
  const cases = JSON.parse(readFileSync(file)).filter((one) => typeof one === "object");
  suites[relative(join(here, "suites"), file)] = cases.map(({ rule, data }) => outcome(rule, data));
}

// Every operation over values that JavaScript converts in its own way. They come from the data, not from the rule.
const values = [
  null, true, false, 0, 1, -1, 2.5, 1e21, 1e-7, 123456789012, "", " ", "0", "1", "-1", " 12 ", "1.5e3x", "0x1F", ".5", "5.", "abc", "a",
  "Infinity", "1e1000", "\u00e9\u{1F600}z", [], [0], [1], ["1"], [1, 2], ["a", null, [3]], [[]], {}, { a: 1 }, { a: 1, b: 2 },
];
const unary = ["!", "!!", "+", "-", "*", "/", "%", "min", "max", "cat", "merge", "log", "substr", "==", "<", "if", "and", "or", "var"];
const binary = [
  "==", "===", "!=", "!==", ">", ">=", "<", "<=", "%", "in", "cat", "substr", "+", "*", "-", "/", "min", "max", "merge", "and", "or",
  "if", "?:",
];
const ternary = [
  ["<", [[1, 2, 3], [1, "2", 3], [3, 2, 1], [1, 1, null], [1, 2, []], ["a", "b", "c"], [-1, null, 1]]],
  ["<=", [[1, 1, 1], [1, "2", 1], ["10", "9", 8], [null, false, 0]]],
  ["substr", [
    ["jsonlogic", 4, 3], ["jsonlogic", -5, 2], ["jsonlogic", 4, -2], ["jsonlogic", 4, "-2"], ["jsonlogic", "1", "3"], ["jsonlogic", 1, null],
    ["jsonlogic", null, 3], ["jsonlogic", 99, 1], ["jsonlogic", -99, 3], ["jsonlogic", 1.9, 2.9], [12345, 1, 2], [null, 0, 2], [[1, 2, 3], 1, 3],
    ["jsonlogic", 0, -99], ["jsonlogic", 2, [-1]], ["jsonlogic", 2, true], ["\u00e9\u{1F600}z", 1, 2], ["jsonlogic", {}, 3],
  ]],
  ["+", [[1, 2, 3], ["1", "2x", [3]], [1, null, 2]]], ["*", [[2, "3", 4], [2, [3], "4x"]]], ["cat", [["a", null, ["b", ["c", null]]], [1, true, {}]]],
  ["max", [[1, "3", 2], [null, -1, false]]], ["min", [[1, "-3", 2], [[], 1, "x"]]], ["merge", [[[1], 2, [[3]]]]], ["-", [[5, 3, 1]]],
  ["if", [[0, 1, 2], [1, 2, 3], ["", 1, []], [[], 1, "no"], [{}, "yes", "no"]]],
];
const matrix = {
  values,
  unary: Object.fromEntries(unary.map((op) => [op, values.map((a) => outcome({ [op]: [{ var: "a" }] }, { a }))])),
  binary: Object.fromEntries(
    binary.map((op) => [op, values.map((a) => values.map((b) => outcome({ [op]: [{ var: "a" }, { var: "b" }] }, { a, b })))])),
  ternary: ternary.flatMap(([op, rows]) => rows.map((row) => {
    const [a, b, c] = row;
    return [op, row, outcome({ [op]: [{ var: "a" }, { var: "b" }, { var: "c" }] }, { a, b, c })];
  })),
};

// Random rules, the same ones each time (mulberry32).
let seed = 2005;
function random() {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const pick = (list) => list[Math.floor(random() * list.length)];
const data = {
  n: 7, z: 0, t: "text", e: "", s: "12", b: true, f: false, nothing: null, list: [3, 1, "2", null], texts: ["a", "b"], rows: [{ n: 1, t: "x" }, { n: 2 }],
  deep: { er: { est: "x" } }, empty: [],
};
const paths = ["n", "z", "t", "e", "s", "b", "f", "nothing", "list", "list.0", "list.length", "texts", "rows", "rows.1.n", "deep.er.est", "t.1", "t.length",
  "empty", "gone", "gone.far", "", "current", "accumulator", "current.n"];
const plainOps = ["==", "===", "!=", "!==", ">", ">=", "<", "<=", "!!", "!", "%", "log", "in", "cat", "substr", "+", "*", "-", "/", "min", "max", "merge", "if",
  "?:", "and", "or"];
const scoping = ["filter", "map", "reduce", "all", "none", "some"];
function rule(depth) {
  const kind = random();
  if (depth === 0 || kind < 0.15) return pick([pick(values), { var: pick(paths) }, { var: [pick(paths), pick(values)] }, pick([0, 1, 2, "a", "1", -1])]);
  if (kind < 0.22) return Array.from({ length: Math.floor(random() * 3) }, () => rule(depth - 1));
  if (kind < 0.45) {
    const over = pick([{ var: pick(["list", "rows", "texts", "empty"]) }, rule(depth - 1)]);
    return { [pick(scoping)]: [over, rule(depth - 1), ...(random() < 0.5 ? [rule(depth - 1)] : [])] };
  }
  if (kind < 0.5) return { missing: Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(paths)) };
  if (kind < 0.53) return { missing_some: [pick([1, 2, "1"]), [pick(paths), pick(paths), pick(paths)]] };
  if (kind < 0.54) return { frobnicate: rule(depth - 1) };
  const op = pick(plainOps);
  const one = random() < 0.15;
  return { [op]: one ? rule(depth - 1) : Array.from({ length: Math.floor(random() * 4) }, () => rule(depth - 1)) };
}
const rules = [];
while (rules.length < 3000) {
  const one = rule(1 + Math.floor(random() * 4));
  const came = outcome(one, data);
  if (JSON.stringify(came).length < 600) rules.push([one, came]);
}

const lines = (items) => `[\n${items.map((item) => JSON.stringify(item)).join(",\n")}\n]`;
const members = (map, text) => `{\n${Object.entries(map).map(([key, item]) => `${JSON.stringify(key)}: ${text(item)}`).join(",\n")}\n}`;
const text = `{
"package": ${JSON.stringify(`json-logic-js ${version}`)},
"suites": ${members(suites, lines)},
"matrix": {
"values": ${lines(values)},
"unary": ${members(matrix.unary, JSON.stringify)},
"binary": ${members(matrix.binary, lines)},
"ternary": ${lines(matrix.ternary)}
},
"random": {
"data": ${JSON.stringify(data)},
"rules": ${lines(rules)}
}
}
`;
JSON.parse(text);
writeFileSync(join(here, "outcomes.json"), text);
