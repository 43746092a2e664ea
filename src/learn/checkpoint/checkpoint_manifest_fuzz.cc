// Any manifest beside good files: an Error, or a checkpoint whose sizes fit.
#include "learn/checkpoint/training_checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  static const std::unique_ptr<Store> store = [] {
    auto s = make_memory_store();
    (void)s->make_dirs("/out/checkpoint-1");
    (void)s->write("/out/checkpoint-1/config.json", "{}");
    return s;
  }();
  if (!store
           ->write("/out/checkpoint-1/hone_manifest.json",
                   std::string_view(reinterpret_cast<const char*>(data), size))
           .ok())
    return 0;
  (void)find_checkpoints("/out", *store);
  (void)verify_checkpoint("/out/checkpoint-1", *store);
  return 0;
}
