// Any bytes as a pickled table: an Error, or every row can be read, twice with the same cells.
#include "learn/data/formats/rows_fuzz.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto opened = open_source(
      memory_source("f.pkl", std::string(reinterpret_cast<const char*>(data), size)), {});
  if (!opened.ok()) return 0;
  read_rows_twice(
      **opened,
      [&](const Row& row, const Row& again) {
        return row.cells.size() == (*opened)->columns().size() && again.cells == row.cells;
      },
      1000);
  return 0;
}
