"""Do the instruction sets keep to themselves? `isa.py RELEASE BARE`: folders of objects that `make isa-check` built.

The linker keeps one of several functions of one name. If a file that is compiled for AVX-512 held a copy of
`std::vector<int>::push_back`, plain code might be given that copy and die on a machine without AVX-512. So two things
are looked for:

1. In the objects of an instruction set, with every optimisation and with none: a function that other files could take
   for theirs, its name not in the namespace of the instruction set.
2. In the linked program: a function outside those namespaces with instructions that x86-64 does not promise.
"""

import re
import subprocess
import sys
from pathlib import Path

# Registers of AVX and AVX-512, and their three-operand forms: every such mnemonic starts with v.
VECTOR_INSTRUCTION = re.compile(r"^\s*[0-9a-f]+:\s+(v[a-z0-9]+|k(?:mov|ortest|test|and|or|xor|not|shift)[a-z]*)\b")
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
TOO_FAR_BACK = re.compile(r"^(verr|verw|vmcall|vmlaunch)")  # start with v and are not of vectors


def output_of(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()


def shared_names(isa: str, objects: list[Path]) -> list[str]:
    """What these objects define for others to see, outside the namespace of their instruction set."""
    names = []
    for path in objects:
        for line in output_of("nm", "--demangle", "--defined-only", "--extern-only", str(path)):
            _, kind, name = line.split(maxsplit=2)
            # DW.ref.*: the address of a function of the C++ runtime
            if f"pysirus::{isa}::" not in name.split("(")[0] and not name.startswith("DW.ref."):
                names.append(f"{path}: {kind} {name}")
    return names


def misplaced_instructions(program: Path, isas: list[str]) -> tuple[list[str], int]:
    """Functions with vector instructions outside the namespaces of the instruction sets; and how many are inside."""
    wrong, inside, function = [], set(), ""
    for line in output_of("objdump", "--disassemble", "--demangle", "--no-show-raw-insn", str(program)):
        if match := FUNCTION.match(line):
            function = match[1]
        elif (match := VECTOR_INSTRUCTION.match(line)) and not TOO_FAR_BACK.match(match[1]):
            if any(f"pysirus::{isa}::" in function for isa in isas):
                inside.add(function)
            elif not wrong or not wrong[-1].startswith(f"{program}: {function}: "):
                wrong.append(f"{program}: {function}: {match[1]}")
    return wrong, len(inside)


def main(folders: list[str]) -> int:
    release = Path(folders[0])
    isas = sorted(path.name for path in release.iterdir() if path.name in ("avx2", "avx512"))
    wrong: list[str] = []
    for folder in map(Path, folders):
        for isa in isas:
            objects = sorted((folder / isa).rglob("*.o"))
            if not objects:
                wrong.append(f"{folder / isa}: no objects")
            wrong += shared_names(isa, objects)
    if isas:
        misplaced, n_inside = misplaced_instructions(release / "driver", isas)
        wrong += misplaced
        if not n_inside:
            wrong.append(f"{release / 'driver'}: no vector instruction was found at all")
        print(f"instruction sets: {n_inside} functions with vector instructions, {len(wrong)} in the wrong place")
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
