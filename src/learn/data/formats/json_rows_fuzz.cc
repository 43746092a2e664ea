// Any bytes as json and as jsonl: errors, never a crash; rows read again from a position are equal.
#include <cstdint>

#include "learn/data/formats/rows_fuzz.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"f.json", "f.jsonl"}) {
    auto format = find_format(name, {});
    auto opened = format->open(memory_source(name, bytes), {});
    if (!opened.ok()) continue;
    read_rows_twice(**opened, [](const Row& row, const Row& again) {
      return again.cells.size() >= row.cells.size();
    });
  }
  return 0;
}
