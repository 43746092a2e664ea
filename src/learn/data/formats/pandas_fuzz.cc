// Any bytes as a pickled table: an Error, or every row can be read, twice with the same cells.
#include "learn/data/formats/rows.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto opened = open_source(
      memory_source("f.pkl", std::string(reinterpret_cast<const char*>(data), size)), {});
  if (!opened.ok()) return 0;
  Row row, again;
  for (int i = 0; i < 1000; ++i) {
    const RowPosition at = (*opened)->position();
    const auto more = (*opened)->next(row);
    if (!more.ok() || !*more) break;
    if (row.cells.size() != (*opened)->columns().size() || !(*opened)->seek(at).ok() ||
        !*(*opened)->next(again) || again.cells != row.cells)
      __builtin_trap();
  }
  return 0;
}
