// Any bytes as a program over the whole catalogue: no shape rule may fail but by an Error.
#include "engine/graph/text.h"
#include "engine/graph/verify.h"
#include "engine/ops/ops.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  Result<Program> p = parse_program({reinterpret_cast<const char*>(data), size}, op_table());
  if (p) (void)verify(*p).ok();
  return 0;
}
