"""Names of builds for other processors in, their checks run under qemu: python -m trust.cross aarch64-gcc s390x-clang.

The programs are in build/core; `make core-cross` compiles them. The hashes are compared with those of this machine.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from trust.record import ROOT, record

BUILD = ROOT / "build" / "core"
CHECKS = ("driver", "likelihood", "cox")


def hashes(words: list[str]) -> dict[str, str]:
    """The hash of each part of the core."""
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return dict(line.split() for line in said.splitlines())


def check(variant: str, expected: dict[str, str]) -> dict[str, Any]:
    """Run the programs of a variant; says what differs."""
    emulator = f"qemu-{variant.split('-')[0]}"
    start = time.perf_counter()
    found = hashes([emulator, str(BUILD / variant / "hash")])
    differ = [part for part in expected if found.get(part) != expected[part]]
    failed, there = [], [name for name in CHECKS if (BUILD / variant / name).exists()]
    for name in there:
        done = subprocess.run([emulator, str(BUILD / variant / name)], capture_output=True, text=True)
        if done.returncode:
            failed.append(name)
            print(done.stdout[-800:], done.stderr[-800:])
    seconds = round(time.perf_counter() - start, 1)
    same = f"{len(expected) - len(differ)} of {len(expected)} hashes equal"
    print(f"{variant:14} {same}, {len(there) - len(failed)} of {len(there)} checks passed, {seconds} s", flush=True)
    return {
        "variant": variant,
        "hashes": found,
        "differ": differ,
        "checks": there,
        "failed": failed,
        "seconds": seconds,
    }


def main() -> int:
    """Check every variant that is named; with --record the figures are written."""
    variants = [word for word in sys.argv[1:] if not word.startswith("--")]
    expected = hashes([str(BUILD / "release" / "hash")])
    print("here           " + " ".join(f"{part} {value}" for part, value in expected.items()), flush=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(lambda variant: check(variant, expected), variants))
    if "--record" in sys.argv:
        record("cross", {"expected": expected, "variants": outcomes})
    return int(any(one["differ"] or one["failed"] for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
