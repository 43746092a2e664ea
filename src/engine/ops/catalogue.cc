#include "engine/ops/catalogue.h"

#include "base/core/text.h"
#include "engine/ops/ops.h"

namespace hone {

std::string op_catalogue() {
  std::string text = fmt::format("{:<26} {:<10} {:<9} {}\n", "op", "kind", "gradient",
                                 "operands, attributes; what results are written over");
  for (const Op* op : op_table().all()) {
    std::vector<std::string> operands, attrs, over;
    for (const Operand& o : op->operands)
      operands.push_back(o.name + (o.list ? "..." : o.optional ? "?" : ""));
    for (const AttrSpec& a : op->attrs) attrs.push_back(a.name + (a.required ? "" : "?"));
    for (const Overwrite& o : op->over) over.push_back((o.adds ? "onto " : "") + o.operand);
    if (op->view_offset != nullptr) over.push_back("a view");
    text += fmt::format("{:<26} {:<10} {:<9} ({}){}{}\n", op->name,
                        op->decompositions.empty() ? "primitive" : "composite",
                        op->grad ? "yes" : "-", join(operands, ", "),
                        attrs.empty() ? "" : fmt::format(" {{{}}}", join(attrs, ", ")),
                        over.empty() ? "" : fmt::format("; {}", join(over, ", ")));
  }
  return text;
}

}  // namespace hone
