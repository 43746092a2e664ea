// Any bytes after the magic number of the legacy format: an Error, or every tensor can be read.
#include "learn/checkpoint/torch/torch_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
  bytes.append(reinterpret_cast<const char*>(data), size);
  hone::read_every_torch_tensor(std::move(bytes));
  return 0;
}
