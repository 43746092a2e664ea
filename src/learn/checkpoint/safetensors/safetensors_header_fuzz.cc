// Any bytes: the header is refused with an Error, or every tensor is within the file.
#include "base/core/error.h"
#include "learn/checkpoint/safetensors/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  const auto file =
      memory_byte_file("fuzz.safetensors", std::string(reinterpret_cast<const char*>(data), size));
  const auto header = read_safetensors_header(*file);
  if (!header.ok()) {
    HONE_BUG_IF(header.error().text().empty(), "an error without text");
    return 0;
  }
  for (const TensorInfo& t : header->tensors) {
    HONE_BUG_IF(t.offset < 8 || t.bytes < 0 || t.offset + t.bytes > file->size(),
                "tensor '{}' lies outside", t.name);
    std::vector<std::byte> bytes(static_cast<size_t>(t.bytes));
    HONE_BUG_IF(!file->read_at(t.offset, bytes).ok(), "tensor '{}' cannot be read", t.name);
  }
  return 0;
}
