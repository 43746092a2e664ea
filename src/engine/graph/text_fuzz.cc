// Any bytes: the parser refuses or accepts; what it accepts prints to a text that parses to itself.
#include "engine/graph/op.h"
#include "engine/graph/text.h"
#include "engine/graph/verify.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hone;
  static const OpTable table({Op{.name = "op",
                                 .operands = {"x?", "y?"},
                                 .attrs = {{"shape", Shape{}}, {"a", 1}, {"b", ""}},
                                 .infer = [](const NodeView& n) -> Result<Types> {
                                   if (!n.has("x")) return Types{{DType::f32, n.integers("shape")}};
                                   return Types{n.in("x"), n.in("x")};
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
