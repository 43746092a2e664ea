// Any bytes as a tar archive: an Error, or entries inside the archive.
#include "base/store/memory_reader.h"
#include "learn/data/images/tar_index.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MemoryReader file({reinterpret_cast<const char*>(data), size});
  const auto entries = list_tar(file, "fuzz.tar");
  if (!entries.ok()) {
    HONE_BUG_IF(entries.error().text().empty(), "an error without text");
    return 0;
  }
  for (const TarEntry& e : *entries)
    HONE_BUG_IF(e.offset < 0 || e.bytes < 0 || e.bytes > file.bytes() - e.offset,
                "an entry outside the archive");
  return 0;
}
