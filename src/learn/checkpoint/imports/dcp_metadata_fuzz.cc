// Any bytes as .metadata: an Error, or every tensor can be read from a file of any content, or is an Error.
#include "learn/checkpoint/imports/dcp_folder.h"
#include "learn/checkpoint/imports/dcp_metadata.h"

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
  const auto run = open_dcp_folder("/c", *store);
  if (!run.ok()) return 0;
  for (const WeightSource* source : {run->weights.get(), run->optimizer.get()}) {
    if (source == nullptr) continue;
    for (const TensorInfo& t : source->tensors()) {
      if (t.type.count() > 1 << 16) continue;
      std::vector<std::byte> out(static_cast<size_t>(t.type.bytes()));
      (void)source->read(t.name, t.type.dtype, out);
    }
  }
  return 0;
}
