"""A model file and a seed in, a damaged file out: bytes, and what was done to them.

Structural damage is done to the JSON document, at places drawn anywhere in it; textual damage to the bytes of the file.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[1] / "golden"
Place = tuple[Any, ...]  # keys and positions from the top of a document


def golden_files() -> list[Path]:
    """The model files that are damaged."""
    return sorted(path for path in GOLDEN.glob("v*/*.json") if not path.name.endswith(".rows.json"))


# ------------------------------------------------------------------------------------------------ places in a document


def places(value: Any, place: Place = ()) -> list[Place]:
    """Every value of a document but the whole of it."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = []
    for key, item in items:
        found.append((*place, key))
        found.extend(places(item, (*place, key)))
    return found


def at(document: Any, place: Place) -> Any:
    """The value at a place."""
    for key in place:
        document = document[key]
    return document


def put(document: Any, place: Place, value: Any) -> None:
    """Set the value at a place."""
    at(document, place[:-1])[place[-1]] = value


class Writer:
    """JSON text that may hold what JSON does not: bare words, giant numbers, keys that occur twice."""

    def __init__(self) -> None:
        self.raw: list[str] = []

    def word(self, text: str) -> str:
        """A stand-in for text that goes into the file as it is."""
        self.raw.append(text)
        return f"@raw{len(self.raw) - 1}@"

    def text(self, document: Any, rng: random.Random) -> str:
        """The document as text."""
        text = json.dumps(document, indent=rng.choice([None, 1]), ensure_ascii=rng.random() < 0.5)
        for i, word in enumerate(self.raw):
            text = text.replace(f'"@raw{i}@"', word)
        return text


# --------------------------------------------------------------------------------------------------- structural damage


def pick(document: Any, rng: random.Random, wanted: Callable[[Any], bool] = lambda value: True) -> Place | None:
    """A place whose value is as wanted; sections are as likely as each other, however long they are."""
    found = [place for place in places(document) if wanted(at(document, place))]
    if not found:
        return None
    section = rng.choice(sorted({str(place[0]) for place in found}))
    found = [place for place in found if str(place[0]) == section]
    shape = rng.choice(sorted({kind_of(place) for place in found}))
    return rng.choice([place for place in found if kind_of(place) == shape])


def kind_of(place: Place) -> str:
    """A place without its positions in lists: `rules.weight`."""
    return ".".join(key for key in place if isinstance(key, str))


def is_number(value: Any) -> bool:
    """A number, and not a truth value."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def delete(document: Any, rng: random.Random, writer: Writer) -> str | None:
    place = pick(document, rng)
    if place is None:
        return None
    del at(document, place[:-1])[place[-1]]
    return f"delete {place}"


def repeat(document: Any, rng: random.Random, writer: Writer) -> str | None:
    place = pick(document, rng, lambda value: isinstance(value, list) and bool(value))
    if place is None:
        return None
    items = at(document, place)
    position = rng.randrange(len(items))
    items.insert(rng.randrange(len(items) + 1), copy.deepcopy(items[position]))
    return f"repeat item {position} of {place}"


STRANGE: list[Any] = [None, True, False, 0, 1, -1, 0.5, "", "x", "1", "NaN", [], {}, [None], {"a": 1}, [[1.0]], "temp"]


def retype(document: Any, rng: random.Random, writer: Writer) -> str | None:
    place = pick(document, rng)
    if place is None:
        return None
    old = at(document, place)
    wrapped = [[old], {"value": old}, str(old), [old, old]]
    new = copy.deepcopy(rng.choice(STRANGE if rng.random() < 0.7 else wrapped))
    put(document, place, new)
    return f"retype {place} to {str(new)[:40]}"


WORDS = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1e308", "-1e308", "1.7976931348623157e308", "5e-324"]
WORDS += ["1e-310", "-0.0", "0", "-1", "1", "2", "0.5", "1.0000001", "255", "256", "1000", "1e6", "1000000", "1e150"]
WORDS += ["2147483647", "4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551616", "1e15"]
WORDS += [
    "1" + "0" * 40,
    "9" * 4000,
    "9" * 6000,
    "-" + "9" * 25,
    "1_000",
    "0x10",
    "01",
    "1.",
    ".5",
    "+1",
    "--1",
    "1e",
    "nan",
]


def extreme(document: Any, rng: random.Random, writer: Writer) -> str | None:
    place = pick(document, rng, is_number)
    if place is None:
        return None
    word = rng.choice(WORDS)
    put(document, place, writer.word(word))
    return f"set {place} to {word[:30]}"


def nudge(document: Any, rng: random.Random, writer: Writer) -> str | None:
    place = pick(document, rng, is_number)
    if place is None:
        return None
    old = at(document, place)
    new = rng.choice([old + 1, old - 1, -old, old * 2, old * 1.0001, float(old), int(old), old * 1e12, old * 1e-12])
    put(document, place, new)
    return f"change {place} from {old} to {new}"


def swap(document: Any, rng: random.Random, writer: Writer) -> str | None:
    first = pick(document, rng)
    if first is None:
        return None
    same = rng.random() < 0.8
    kind = type(at(document, first))
    second = pick(document, rng, lambda value: not same or type(value) is kind)
    if second is None or first[: len(second)] == second or second[: len(first)] == first:
        return None
    a, b = at(document, first), at(document, second)
    put(document, first, b)
    put(document, second, a)
    return f"swap {first} and {second}"


def swap_rules(document: Any, rng: random.Random, writer: Writer) -> str | None:
    """Two values of the same field, in two rules or conditions."""
    first = pick(document, rng, lambda value: True)
    others = [p for p in places(document) if first is not None and kind_of(p) == kind_of(first) and p != first]
    others = [p for p in others if len(p) == len(first or ())]
    if first is None or not others:
        return None
    second = rng.choice(others)
    a, b = at(document, first), at(document, second)
    put(document, first, b)
    put(document, second, a)
    return f"exchange {first} and {second}"


def unknown(document: Any, rng: random.Random, writer: Writer) -> str | None:
    place = rng.choice([(), *[p for p in places(document) if isinstance(at(document, p), dict)]])
    at(document, place)[rng.choice(["surprise", "weight", "levels", "__class__", ""])] = rng.choice([1, None, "x", []])
    return f"add a key to {place}"


def order(document: Any, rng: random.Random, writer: Writer) -> str | None:
    place = pick(document, rng, lambda value: isinstance(value, list) and len(value) > 1)
    if place is None:
        return None
    items = at(document, place)
    rng.choice([items.reverse, lambda: rng.shuffle(items)])()
    return f"reorder {place}"


TEXTS = [
    "\ud800",
    "\x00",
    "a" * 100_000,
    "é日本",
    "\u2028",
    "=1+1",
    "x0",
    "<b>",
    " ",
    "nan",
    "\x1b[31m",
    "'; --",
    "<U99999999",
]


def rewrite(document: Any, rng: random.Random, writer: Writer) -> str | None:
    place = pick(document, rng, lambda value: isinstance(value, str))
    if place is None:
        return None
    old = at(document, place)
    others = [at(document, p) for p in places(document) if isinstance(at(document, p), str)]
    new = rng.choice(
        [rng.choice(TEXTS), rng.choice(others), old + "x", old[:-1], old.upper(), old + " 1", old + " nan"]
    )
    put(document, place, new)
    return f"rewrite {place} to {new[:40]!r}"


def one_of_line(document: Any, rng: random.Random, writer: Writer) -> str | None:
    """One number of a line of the sums over folds."""
    place = pick({"moments": document.get("moments")}, rng, lambda value: isinstance(value, str) and " " in value)
    if place is None:
        return None
    words = at(document, place).split(" ")
    i = rng.randrange(len(words))
    old = words[i]
    words[i] = rng.choice([*WORDS, old + "1", "-" + old, "0", f"{old}e3", f"{old}e-9", words[i - 1]])
    put(document, place, " ".join(words))
    return f"set number {i} of {place} from {old} to {words[i][:30]}"


def lengthen(document: Any, rng: random.Random, writer: Writer) -> str | None:
    place = pick(document, rng, lambda value: isinstance(value, (list, str)) and bool(value))
    if place is None:
        return None
    old, times = at(document, place), rng.choice([2, 10, 300, 15_000])
    size = len(json.dumps(old))
    times = min(times, max(2, 2_000_000 // size))
    put(document, place, " ".join([old] * times) if isinstance(old, str) else old * times)
    return f"lengthen {place} {times} times"


def _length(document: Any, place: Place) -> int:
    """How long a list is, where earlier damage has left one."""
    found = at(document, place) if _has(document, place) else None
    return len(found) if isinstance(found, list) else 1


def swell(document: Any, rng: random.Random, writer: Writer) -> str | None:
    """Few bytes that ask for much memory: sizes of arrays, types of labels, lengths of axes."""
    n = rng.choice([3_000, 15_000, 50_000])
    asked = {
        ("moments", "rows"): " ".join(["1"] * n),
        ("moments", "size"): " ".join(["1"] * n),
        ("moments", "n_rows"): 2**62,
        ("facts", "label_type"): rng.choice(["<U99999999", "<U99999", "|V99999999", "|S99999999"]),
        ("facts", "n_stages"): 10**12,
        ("tuning", "n_repeats"): 10**15,
        ("tuning", "path", "n_rules"): [1e15] * _length(document, ("tuning", "path", "p0")),
        ("tuning", "step"): 10**9,
        ("features", 0, "levels"): list(range(n)),
        ("classes",): list(range(n)),
        ("rules", 0, "conditions", 0, "index"): 2**31 - 1,
        ("rules", 0, "stage"): 2**62,
        ("terms", 0, "index"): 2**40,
    }
    able = [place for place in asked if _has(document, place)]
    place = rng.choice(able)
    put(document, place, asked[place])
    return f"swell {place}"


def nest(document: Any, rng: random.Random, writer: Writer) -> str | None:
    place, depth = pick(document, rng), rng.choice([5, 50, 900, 5_000, 100_000])
    if place is None:
        return None
    left, right = rng.choice([("[", "]"), ('{"a":', "}")])
    put(document, place, writer.word(left * depth + "1" + right * depth))
    return f"nest {place} {depth} deep"


def entangle(document: Any, rng: random.Random, writer: Writer) -> str | None:
    """Conditions that no rule asks, about columns whose names hold each other: a text with very many readings."""
    features = document.get("features") if isinstance(document, dict) else None
    if not isinstance(features, list) or "recipe" in document:
        return None
    features += [{"name": name, "kind": "categorical", "levels": [False, True]} for name in ("a", "a & a")]
    text = " & ".join(["a"] * rng.choice([2, 60, 3_000])) + rng.choice(["", " !", " & x"])
    section = {"monotonic": {}, "most_together": None, "groups": [], "apart": [], "forbidden": [text]}
    document["constraints"], document["version"] = section, 2
    return f"forbid {text[:40]}"


def key_twice(document: Any, rng: random.Random, writer: Writer) -> str | None:
    """The same key again in an object, with another value."""
    objects = [(), *[p for p in places(document) if isinstance(at(document, p), dict) and at(document, p)]]
    place = rng.choice(objects)
    inner = at(document, place)
    key = rng.choice(list(inner))
    inner[writer.word(json.dumps(key))] = rng.choice([inner[key], None, 1, "x", []])
    return f"key {key!r} twice in {place}"


def transplant(document: Any, rng: random.Random, writer: Writer) -> str | None:
    """A section, or what is at the same place, of another model."""
    other = json.loads(rng.choice(golden_files()).read_text(encoding="utf-8"))
    shared = [p for p in places(document) if len(p) <= rng.choice([1, 3, 6]) and _has(other, p)]
    if not shared:
        return None
    place = rng.choice(shared)
    put(document, place, at(other, place))
    return f"transplant {place}"


def _has(document: Any, place: Place) -> bool:
    try:
        at(document, place)
    except (KeyError, IndexError, TypeError):
        return False
    return True


STRUCTURAL = [delete, repeat, retype, retype, extreme, extreme, nudge, nudge, swap, swap_rules, swap_rules, unknown]
STRUCTURAL += [order, rewrite, rewrite, one_of_line, lengthen, swell, nest, entangle, key_twice, transplant]


# ------------------------------------------------------------------------------------------------------ textual damage


def truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def flip(data: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def cut_out(data: bytes, rng: random.Random) -> bytes:
    start = rng.randrange(len(data))
    return data[:start] + data[start + rng.choice([1, 2, 10, 200]) :]


def double(data: bytes, rng: random.Random) -> bytes:
    start, end = sorted((rng.randrange(len(data)), rng.randrange(len(data))))
    return data[:end] + data[start:end] + data[end:]


def blank(data: bytes, rng: random.Random) -> bytes:
    start, n = rng.randrange(len(data)), rng.choice([1, 10, 512])
    return data[:start] + rng.choice([b"\x00", b" ", b"9", b"["]) * n + data[start + n :]


def recode(data: bytes, rng: random.Random) -> bytes:
    text = data.decode("utf-8")
    return rng.choice([text.encode("utf-16"), b"\xef\xbb\xbf" + data, data.replace(b"\n", b"\r\n"), data + data])


def digit(data: bytes, rng: random.Random) -> bytes:
    """Another digit somewhere: the file stays JSON."""
    positions = [i for i, byte in enumerate(data) if chr(byte).isdigit()]
    damaged = bytearray(data)
    damaged[rng.choice(positions)] = ord(rng.choice("0123456789"))
    return bytes(damaged)


TEXTUAL = [truncate, flip, flip, flip, cut_out, double, blank, recode, digit, digit]


# ------------------------------------------------------------------------------------------------------------- mutants


def mutant(seed: int) -> tuple[Path, bytes, str]:
    """Which file, its damaged bytes, and what was done."""
    rng = random.Random(seed)
    files = golden_files()
    path = files[seed % len(files)]
    data = path.read_bytes()
    if rng.random() < 0.2:
        damage = rng.choice(TEXTUAL)
        return path, damage(data, rng), damage.__name__
    document, writer, done = json.loads(data), Writer(), []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        done.append(rng.choice(STRUCTURAL)(document, rng, writer) or "nothing")
    return path, writer.text(document, rng).encode("utf-8", "surrogatepass"), "; ".join(done)
