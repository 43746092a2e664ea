// Any bytes behind the magic number of the legacy format: an Error, or every tensor can be read.
#include "learn/checkpoint/torch_file.h"

using namespace hone;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
  bytes.append(reinterpret_cast<const char*>(data), size);
  size = bytes.size();
  const auto w = open_torch(memory_byte_file("fuzz.bin", std::move(bytes)));
  if (!w.ok()) return 0;
  for (const TensorInfo& t : (*w)->tensors()) {
    HONE_BUG_IF(t.offset < 0 || t.offset > static_cast<int64_t>(size), "'{}' lies outside", t.name);
    if (t.type.count() > 1 << 20) continue;  // a stride of 0 repeats one element for ever
    std::vector<std::byte> out(static_cast<size_t>(t.type.bytes()));
    const Status done = (*w)->read(t.name, t.type.dtype, out);
    HONE_BUG_IF(!done.ok() && done.error().code() != std::string_view("H2206"), "'{}': {}", t.name,
                done.error().text());
  }
  return 0;
}
