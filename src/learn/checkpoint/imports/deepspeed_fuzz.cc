// Any bytes as the files of a DeepSpeed checkpoint of one rank: an Error, or every tensor can be read. The
// first four bytes are the size of the model's file; the rest is the optimizer's.
#include <cstring>

#include "learn/checkpoint/imports/imports.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  uint32_t first = 0;
  if (size < sizeof first) return 0;
  std::memcpy(&first, data, sizeof first);
  const std::string_view all(reinterpret_cast<const char*>(data) + sizeof first,
                             size - sizeof first);
  const std::string_view model = all.substr(0, first);
  const auto store = make_memory_store();
  (void)store->make_dirs("/c");
  (void)store->write("/c/mp_rank_00_model_states.pt", model);
  (void)store->write("/c/zero_pp_rank_0_mp_rank_00_optim_states.pt", all.substr(model.size()));
  const auto run = open_import("/c", *store);
  if (!run.ok()) {
    HONE_BUG_IF(run.error().text().empty(), "an error without text");
    return 0;
  }
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
