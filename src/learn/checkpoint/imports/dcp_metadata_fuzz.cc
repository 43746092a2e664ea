// Any bytes as .metadata: an Error, or every tensor can be read from a file of any content, or is an Error.
#include "learn/checkpoint/imports/dcp_folder.h"
#include "learn/checkpoint/imports/dcp_metadata.h"
#include "learn/checkpoint/imports/import_fuzz.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto metadata = read_dcp_metadata(bytes, "/c/.metadata");
  if (!metadata.ok()) {
    HONE_BUG_IF(metadata.error().text().empty(), "an error without text");
    return 0;
  }
  const auto store = make_memory_store();
  (void)store->make_dirs("/c");
  (void)store->write("/c/.metadata", bytes);
  for (const DcpTensor& t : metadata->tensors)
    for (const DcpChunk& chunk : t.chunks) {
      HONE_BUG_IF(chunk.place.file.find('/') != std::string::npos, "a file elsewhere");
      (void)store->write("/c/" + chunk.place.file, bytes);
    }
  read_all(open_dcp_folder("/c", *store));
  return 0;
}
