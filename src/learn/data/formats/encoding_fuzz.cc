// Any bytes as text of every encoding: what is read is UTF-8, errors are errors, and rows read
// again from a position are equal.
#include <cstdint>

#include "learn/data/formats/rows_fuzz.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  (void)check_not_utf16(bytes, "f").ok();
  for (const Charset encoding : {Charset::kUtf8, Charset::kUtf16, Charset::kUtf16Le,
                                 Charset::kUtf16Be, Charset::kCp1252, Charset::kLatin1}) {
    RowOptions options;
    options.encoding = encoding;
    auto opened = open_source(memory_source("f.txt", bytes), options);
    if (!opened.ok()) continue;
    read_rows_twice(**opened, [](const Row& row, const Row& again) {
      return find_bad_utf8(std::get<std::string>(row.cells[0])) == std::string::npos &&
             again.cells == row.cells;
    });
  }
  return 0;
}
