#!/usr/bin/env bash
# How much faster forests grow on more threads: seconds, processor seconds, factor over one thread, and a hash that must
# not change; then how much the machine gives to as many forests at once. Needs a C++20 compiler and nothing else.
# benchmarks/threads.sh [1 2 4 8 16]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
compiler=${CXX:-g++}
flags=(-std=c++20 -O3 -ffp-contract=off -Wno-psabi -pthread "-I$root/cpp")
names=(plain)
defines=()
if [ "$(uname -m)" = x86_64 ]; then
  names+=(avx2 avx512)
  defines=(-DPYSIRUS_AVX2 -DPYSIRUS_AVX512)
fi
avx2=(-mavx2)
avx512=(-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vnni -mprefer-vector-width=512)
plain=()

jobs=()
objects=()
compile() {  # object, source, flags
  "$compiler" "${flags[@]}" "${@:3}" -c "$root/cpp/$2" -o "$build/$1" &
  jobs+=($!)
  objects+=("$build/$1")
}
for name in "${names[@]}"; do
  declare -n options=$name
  compile "$name.o" forest/kernel/grow.cpp "${options[@]}" "-DPYSIRUS_ISA=$name"
done
for source in forest/drawn forest/forest forest/level forest/workspace check/threads; do
  compile "${source//\//-}.o" "$source.cpp" "${defines[@]}"
done
for job in "${jobs[@]}"; do wait "$job"; done
"$compiler" "${flags[@]}" "${objects[@]}" -o "$build/threads"

[ $# -gt 0 ] || set -- 1 2 4 8 16
echo "$(nproc) processors: $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)"
lscpu | grep -E '^(Thread|Core|Socket|NUMA|L2|L3)' || true
for table in "2000000 50 128 0" "100000 50 2048 0" "1000000 20 64 0" "100000 20 10000 5000" "1000000 20 10000 5000"; do
  read -r -a shape <<<"$table"
  echo
  "$build/threads" "${shape[@]}" "$@"
done
