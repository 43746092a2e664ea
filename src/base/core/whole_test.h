// The length of long tests. A long test usually runs a sample of its cases. `make nightly` sets HONE_WHOLE_TESTS; the
// test then runs all of its cases.
#pragma once

#include <cstdlib>

namespace hone {

// Returns true if tests run all of their cases.
inline bool tests_whole() { return std::getenv("HONE_WHOLE_TESTS") != nullptr; }
// The number of rounds of a test over random cases: `whole`, or a quarter of it for a sample.
inline int rounds(int whole) { return tests_whole() ? whole : whole / 4; }

}  // namespace hone
