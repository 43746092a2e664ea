// Any bytes as csv and as tsv: errors, never a crash; rows read again from a position are equal.
#include <cstdint>

#include "learn/data/formats/rows_fuzz.h"
#include "learn/data/formats/separated.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const bool comma : {true, false}) {
    auto opened = open_separated(memory_source("f", bytes), comma ? ',' : '\t',
                                 comma ? Quoting::kRfc4180 : Quoting::kWhenBalanced);
    if (!opened.ok()) continue;
    read_rows_twice(**opened,
                    [](const Row& row, const Row& again) { return again.cells == row.cells; });
  }
  return 0;
}
