// Any bytes as an Arrow file or stream, and as parquet: errors, never a crash; rows read again from
// a position are equal. Without Arrow in the build every input is the same error.
#include <cstdint>

#include "learn/data/formats/rows.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"f.arrow", "f.parquet"}) {
    auto format = find_format(name, {});
    auto opened = format->open(memory_source(name, bytes), {});
    if (!opened.ok()) continue;
    RowReader& reader = **opened;
    Row row, again;
    for (int rows = 0; rows < 64; ++rows) {
      const RowPosition at = reader.position();
      auto more = reader.next(row);
      if (!more.ok() || !*more) break;
      const RowPosition behind = reader.position();
      if (!reader.seek(at).ok() || !*reader.next(again) || again.cells.size() != row.cells.size() ||
          reader.position() != behind) {
        __builtin_trap();
      }
    }
  }
  return 0;
}
