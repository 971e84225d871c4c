#!/usr/bin/env python3
"""Writes table.json: what the recorded language itself says of guards on generated states.

usage: guards.py > table.json, with apache-burr 0.42.0 installed (pip install apache-burr==0.42.0)

Guards are of the kinds that the peer's examples use: comparisons, and/or/not, `is None`, `in`, len, indexes, methods, a sum. A
row is the guard as Burr reads it (an expression, or the keywords of `when`), the same guard as a machine.yaml writes it, and a
digit a state: 1 if the edge is offered, 0 if it is not (which is also what an error or a missing key means).
"""
import json, random, sys
from importlib.metadata import version
from burr.core import State
from burr.core.action import Condition

# Expressions. A pair is one that a machine.yaml writes in another way.
EXPRESSIONS = """
stage == 'open'
stage != 'open'
'open' == stage
stage == "closed"
n > 3
n >= 3
n < 3
n <= 3
n == 3
n != 3
n == 3.0
0 < n < 5
0 <= n <= n
n > 1 and n < 4 and n != 2
n + 1 > 3
n - 1 < 0
n * 2 >= 6
n / 2 > 1.5
n // 2 == 1
n % 2 == 0
-n < -2
2 ** n > 7
10 / n > 3
n > 0 and 10 // n == 5
flag
not flag
flag == True
flag is True
flag is False
flag is not True
flag and n > 2
flag or n > 2
not (flag and n > 2)
not flag and not owner
stage == 'open' and not flag
(n > 1 and flag) or (owner is None and stage == 'open')
'x' if flag else ''
n if flag else 0
stage in ['open', 'held']
stage not in ['open', 'held']
stage in ('open', 'held')
'b' in items
'b' not in items
'pe' in stage
'a' in counts
owner in ['ann', None]
owner is None
owner is not None
owner == None
owner == 'ann'
owner is not None and owner.strip() != ''
owner and owner == 'ann'
len(items) > 1
len(items) == 0
len(items) >= n
len(stage) >= 4
len(counts) == 2
items
owner
stage
n
counts
verdicts
items[0] == 'a'
items[-1] == 'c'
items[1:] == ['b']
items[:1] == ['a']
items == ['a', 'b']
items + ['z'] == ['z']
items and items[0] == 'a'
verdicts[-1]['verdict'] == 'ok'
verdicts[0]['score'] > 2
verdicts and verdicts[-1]['score'] >= 3
len(verdicts) > 0 and verdicts[-1]['verdict'] == 'ok'
counts['a'] > 1
counts['b'] == 0
counts.get('a') == 2
counts.get('c', 5) == 5
'a' in counts and counts['a'] > 1
2 in counts.values()
len(counts.keys()) == 1
stage.startswith('o')
stage.endswith('d')
stage.upper() == 'OPEN'
stage.strip() != ''
stage.replace('o', '0') == '0pen'
value > 100
value >= limit
value <= limit
value == limit
value != limit
value < 'm'
value in [1, '1', None]
value == 1
value == True
value
not value
value is None or value > 100
value + 1 > 2
value * 2 == 'abab'
missing == 1
missing is None
not missing
n > 3 or missing
""".strip().splitlines() + [
    ("sum(numbers) >= 10", "numbers | sum >= 10"),
    ("max(numbers) == 5", "numbers | max == 5"),
    ("min(numbers) < 0", "numbers | min < 0"),
    ("abs(n) > 1", "n | abs > 1"),
    ("round(n / 3) == 1", "(n / 3) | round == 1"),
    ("int(n) == n", "n | int == n"),
    ("str(n) == '3'", "n | string == '3'"),
    ("sorted(numbers)[0] == 1", "(numbers | sort)[0] == 1"),
    ("any(numbers)", "numbers | select | list | length > 0"),
    ("all(numbers)", "numbers | reject | list | length == 0"),
    ("list(reversed(items)) == ['b', 'a']", "items | reverse | list == ['b', 'a']"),
    ("sum(counts.values()) > 3", "counts.values() | sum > 3"),
    ("any(one['verdict'] == 'no' for one in verdicts)",
     "verdicts | selectattr('verdict', 'eq', 'no') | list | length > 0"),
]

# Keywords of `when`, and the guard that the page for authors writes for them.
WHEN = [
    ({"stage": "open"}, "stage == 'open'"),
    ({"stage__ne": "open"}, "stage != 'open'"),
    ({"n__eq": 3}, "n == 3"),
    ({"n__lt": 3}, "n is number and n < 3"),
    ({"n__lte": 3}, "n is number and n <= 3"),
    ({"n__gt": 3}, "n is number and n > 3"),
    ({"n__gte": 3}, "n is number and n >= 3"),
    ({"value__gt": 100}, "value is number and value > 100"),
    ({"value__lte": 100}, "value is number and value <= 100"),
    ({"stage__in": ["open", "held"]}, "stage in ['open', 'held']"),
    ({"stage__notin": ["open", "held"]}, "stage not in ['open', 'held']"),
    ({"items__contains": "b"}, "'b' in items"),
    ({"owner__is": None}, "owner is none"),
    ({"owner__isnot": None}, "owner is not none"),
    ({"stage": "open", "n__gte": 2}, "stage == 'open' and n is number and n >= 2"),
    ({"missing": 1}, "missing == 1"),
]

def states(count):
    """States of every shape that guards meet, always the same ones."""
    dice = random.Random(20261130)
    mixed = [None, True, False, 0, 1, 2, 101, -3, 1.5, 100.5, "", "a", "ab", "1", "zz", [], [1], {}, {"a": 1}]
    made = []
    for _ in range(count):
        state = {
            "stage": dice.choice(["", "open", "held", "closed"]), "n": dice.choice([-3, -2, 0, 1, 2, 3, 4, 5, 1.5, 3.0]),
            "flag": dice.random() < .5, "owner": dice.choice([None, "", " ", "ann", "bob"]),
            "items": dice.choice([[], ["a"], ["b"], ["a", "b"], ["a", "b", "c"], ["c", "a"]]),
            "verdicts": [{"verdict": dice.choice(["ok", "no"]), "score": dice.randint(0, 4)} for _ in range(dice.randint(0, 2))],
            "counts": {key: dice.randint(0, 3) for key in "abc" if dice.random() < .5},
            "numbers": [dice.randint(-2, 5) for _ in range(dice.randint(0, 4))],
            "value": dice.choice(mixed), "limit": dice.choice(mixed),
        }
        if dice.random() < .15:
            del state[dice.choice(sorted(state))]
        made.append(state)
    return made

def offered(condition, state):
    if any(key not in state for key in condition.reads): return "0"
    try: return "1" if condition.run(State(state))[Condition.KEY] else "0"
    except Exception: return "0"

def main():
    made = states(400)
    rows = [(said, ours, Condition.expr(said)) for said, ours in
            (pair if isinstance(pair, tuple) else (pair, pair) for pair in EXPRESSIONS)]
    rows += [(said, ours, Condition.when(**said)) for said, ours in WHEN]
    print("{")
    print(f' "recorded": "apache-burr {version("apache-burr")}, Python {sys.version_info[0]}.{sys.version_info[1]}",')
    print(' "states": [\n  ' + ",\n  ".join(json.dumps(state) for state in made) + "\n ],")
    lines = [json.dumps([said, ours, "".join(offered(condition, state) for state in made)]) for said, ours, condition in rows]
    print(' "guards": [\n  ' + ",\n  ".join(lines) + "\n ]\n}")

main()
