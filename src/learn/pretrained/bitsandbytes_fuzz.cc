// Any safetensors file: refused with an Error, or every weight can be read, as floats and as its
// blocks.
#include "learn/checkpoint/safetensors/safetensors.h"
#include "learn/models/param_spec.h"
#include "learn/models/quantization.h"
#include "learn/pretrained/bitsandbytes.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const auto store = make_memory_store();
  const std::string path = "model.safetensors";
  if (!store->write(path, {reinterpret_cast<const char*>(data), size}).ok()) return 0;
  auto base = open_safetensors(path, *store);
  if (!base.ok()) return 0;
  const auto weights = read_bitsandbytes(std::move(*base), {"turned.weight"});
  if (!weights.ok()) {
    HONE_BUG_IF(weights.error().text().empty(), "an error without text");
    return 0;
  }
  for (const TensorInfo& t : (*weights)->tensors()) {
    if (!is_float(t.type.dtype) || !t.scheme.starts_with("bitsandbytes")) continue;
    std::vector<float> values(static_cast<size_t>(t.type.count()));
    HONE_BUG_IF(
        !(*weights)->read(t.name, DType::f32, std::as_writable_bytes(std::span(values))).ok(),
        "tensor '{}' cannot be read", t.name);
    if (t.blocks.empty()) continue;
    const bool turned = t.name == "turned.weight";
    ParamSpec spec{t.name, t.type.shape};
    spec.in_out = turned;
    spec.scheme = t.blocks;
    spec.nested = t.nested;
    for (const KeptState& kept : kept_states(spec)) {
      std::vector<std::byte> bytes(static_cast<size_t>(kept.type.bytes()));
      HONE_BUG_IF(!(*weights)->read_blocks(t.name, kept.name.substr(t.name.size()), 0, bytes).ok(),
                  "'{}' cannot be read", kept.name);
    }
  }
  return 0;
}
