// Any bytes as the file of the only rank of a Megatron-LM checkpoint: an Error, or every tensor can be read.
#include "learn/checkpoint/imports/imports.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto store = make_memory_store();
  (void)store->make_dirs("/c/mp_rank_00");
  (void)store->write("/c/mp_rank_00/model_optim_rng.pt",
                     std::string_view(reinterpret_cast<const char*>(data), size));
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
