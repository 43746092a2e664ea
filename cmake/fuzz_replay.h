// The fuzzers of one room, as cmake/HoneRoom.cmake joins them into a program.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

struct FuzzTarget {
  const char* corpus;  // folder of tests/fuzz
  int (*input)(const uint8_t* data, size_t size);
};
std::vector<FuzzTarget> all_fuzz_targets();
