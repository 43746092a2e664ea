// Any bytes as the file of the only rank of a Megatron-LM checkpoint: an Error, or every tensor can be read.
#include "learn/checkpoint/imports/import_fuzz.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto store = make_memory_store();
  (void)store->make_dirs("/c/mp_rank_00");
  (void)store->write("/c/mp_rank_00/model_optim_rng.pt",
                     std::string_view(reinterpret_cast<const char*>(data), size));
  read_all(open_import("/c", *store));
  return 0;
}
