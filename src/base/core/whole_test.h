// The length of long tests: a sample, or all of it in make nightly (HONE_WHOLE_TESTS).
#pragma once

#include <cstdlib>

namespace hone {

inline bool tests_whole() { return std::getenv("HONE_WHOLE_TESTS") != nullptr; }
// Rounds of a test over random cases: a quarter of `whole` in a sample.
inline int rounds(int whole) { return tests_whole() ? whole : whole / 4; }

}  // namespace hone
