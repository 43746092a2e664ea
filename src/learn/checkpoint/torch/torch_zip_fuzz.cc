// Any bytes as a file of torch.save: an Error, or every tensor can be read.
#include "learn/checkpoint/torch/torch_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hone::read_every_torch_tensor({reinterpret_cast<const char*>(data), size});
  return 0;
}
