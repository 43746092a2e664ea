// Any bytes as optimizer.pt of Transformers' Trainer beside whole weights: an Error, or every tensor can be read.
// The first four bytes are the size of the optimizer's file; the rest is scheduler.pt.
#include <cstring>

#include "learn/checkpoint/imports/imports.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint32_t first = 0;
  if (size < sizeof first) return 0;
  std::memcpy(&first, data, sizeof first);
  const std::string_view all(reinterpret_cast<const char*>(data) + sizeof first,
                             size - sizeof first);
  const std::string_view optimizer = all.substr(0, first);
  const auto store = make_memory_store();
  (void)store->make_dirs("/c");
  // An empty file of safetensors: the size of its header, and {}.
  (void)store->write("/c/model.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
  (void)store->write("/c/trainer_state.json", "{\"global_step\": 4}");
  (void)store->write("/c/optimizer.pt", optimizer);
  (void)store->write("/c/scheduler.pt", all.substr(optimizer.size()));
  const auto run = open_import("/c", *store);
  if (!run.ok()) {
    HONE_BUG_IF(run.error().text().empty(), "an error without text");
    return 0;
  }
  if (run->optimizer == nullptr) return 0;
  for (const TensorInfo& t : run->optimizer->tensors()) {
    if (t.type.count() > 1 << 16) continue;
    std::vector<std::byte> out(static_cast<size_t>(t.type.bytes()));
    (void)run->optimizer->read(t.name, t.type.dtype, out);
  }
  return 0;
}
