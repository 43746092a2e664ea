// Any bytes as optimizer.pt of Transformers' Trainer beside whole weights: an Error, or every tensor can be read.
// The first four bytes are the size of the optimizer's file; the rest is scheduler.pt.
#include "learn/checkpoint/imports/import_fuzz.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto files = two_files(data, size);
  if (!files) return 0;
  const auto store = make_memory_store();
  (void)store->make_dirs("/c");
  // An empty file of safetensors: the size of its header, and {}.
  (void)store->write("/c/model.safetensors", std::string("\2\0\0\0\0\0\0\0{}", 10));
  (void)store->write("/c/trainer_state.json", "{\"global_step\": 4}");
  (void)store->write("/c/optimizer.pt", files->first);
  (void)store->write("/c/scheduler.pt", files->second);
  read_all(open_import("/c", *store));
  return 0;
}
