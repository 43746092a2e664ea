// Any bytes as csv and as tsv: errors, never a crash; rows read again from a position are equal.
#include <cstdint>

#include "learn/data/formats/rows_fuzz.h"
#include "learn/data/formats/separated.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  RowOptions named;  // without header and quotes, as GLUE's files
  named.column_names = {"a", "b"};
  named.quoted = false;
  for (const int kind : {0, 1, 2}) {
    auto opened = open_separated(memory_source("f", bytes), kind == 0 ? ',' : '\t',
                                 kind == 0 ? Quoting::kRfc4180 : Quoting::kWhenBalanced,
                                 kind == 2 ? named : RowOptions{});
    if (!opened.ok()) continue;
    read_rows_twice(**opened,
                    [](const Row& row, const Row& again) { return again.cells == row.cells; });
  }
  return 0;
}
