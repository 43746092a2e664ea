// Any bytes: refused with an Error, or every tensor can be read.
#include "base/core/error.h"
#include "learn/checkpoint/gguf/gguf_weights.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto file = memory_byte_file("fuzz.gguf", bytes);
  const auto gguf = read_gguf(*file);
  if (!gguf.ok()) return 0;
  for (const GgufTensor& t : gguf->tensors)
    HONE_BUG_IF(t.offset < 0 || t.bytes < 0 || t.offset + t.bytes > file->size(),
                "tensor '{}' lies outside", t.name);
  const auto config = gguf_config(*gguf, *file);
  if (config.ok()) (void)dump_json(*config);
  const auto weights = open_gguf_weights(memory_byte_file("fuzz.gguf", bytes));
  if (!weights.ok()) return 0;
  for (const TensorInfo& t : (*weights)->tensors()) {
    std::vector<float> values(static_cast<size_t>(t.type.count()));
    HONE_BUG_IF(
        !(*weights)->read(t.name, DType::f32, std::as_writable_bytes(std::span(values))).ok(),
        "tensor '{}' cannot be read", t.name);
    if (t.blocks.empty()) continue;
    std::vector<std::byte> blocks(static_cast<size_t>(t.bytes));
    HONE_BUG_IF(!(*weights)->read_blocks(t.name, "", 0, blocks).ok(), "no blocks of '{}'", t.name);
  }
  return 0;
}
