// Any bytes: the parser refuses or accepts; what it accepts prints to a text that parses to itself.
#include "engine/graph/op.h"
#include "engine/graph/text.h"
#include "engine/graph/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  static const OpTable table({Op{"op", [](const NodeView& n) -> Result<Types> {
                                   if (!n.has(0))
                                     return Types{{DType::f32, n.attrs().integers("shape")}};
                                   return Types{n.in(0), n.in(0)};
                                 }}});
  Result<Program> p = parse_program({reinterpret_cast<const char*>(data), size}, table);
  if (!p) return 0;
  (void)verify(*p).ok();
  p->compact();
  std::string text = print(*p);
  Result<Program> again = parse_program(text, table);
  if (!again || print(*again) != text) __builtin_trap();
  return 0;
}
