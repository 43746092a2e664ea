// Any bytes as the files of a DeepSpeed checkpoint of one rank: an Error, or every tensor can be read. The
// first four bytes are the size of the model's file; the rest is the optimizer's.
#include "learn/checkpoint/imports/import_fuzz.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto files = two_files(data, size);
  if (!files) return 0;
  const auto store = make_memory_store();
  (void)store->make_dirs("/c");
  (void)store->write("/c/mp_rank_00_model_states.pt", files->first);
  (void)store->write("/c/zero_pp_rank_0_mp_rank_00_optim_states.pt", files->second);
  read_all(open_import("/c", *store));
  return 0;
}
