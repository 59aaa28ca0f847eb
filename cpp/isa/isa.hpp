// The namespace of an instruction set. A file that is compiled for several of them (forest/kernel/grow.cpp,
// evaluate/kernel.cpp, weights/kernel.cpp) is told by -DPYSIRUS_ISA which one it is compiled for; everything else is `plain`.
//
// Inline functions that such a file may call stand in this namespace too, here and in every header that it includes: each
// instruction set has its own copy of them, and the linker, which keeps one of several copies of the same name, never gives
// plain code a copy with vector instructions. For the same reason these files call no function of the standard library
// that is defined in a header. check/isa.py tells whether this holds.
#pragma once

// Set where the compiler has no vectors of its own, and by hand to check what such a compiler will see.
#if !defined(__GNUC__) && !defined(__clang__) && !defined(PYSIRUS_PORTABLE)
#define PYSIRUS_PORTABLE
#endif

#if !defined(PYSIRUS_ISA)
#define PYSIRUS_ISA plain
#endif

namespace pysirus {

namespace PYSIRUS_ISA {}
using namespace PYSIRUS_ISA;

}  // namespace pysirus
