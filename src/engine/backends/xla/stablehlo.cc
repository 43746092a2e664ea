#include "engine/backends/xla/stablehlo.h"

#include <algorithm>

#include "engine/backends/xla/write_ops.h"

namespace hone::xla {

ModuleText write_module(const Program& p) {
  ModuleText m;
  for (const Named& o : p.outputs)
    if (std::find(m.outputs.begin(), m.outputs.end(), o.value) == m.outputs.end())
      m.outputs.push_back(o.value);

  Writer w;
  Refs values(p.values.size());
  std::vector<std::string> arguments;
  const auto argument = [&](ValueId v, const std::string& more) {
    const Ref r{fmt::format("%arg{}", arguments.size()), element_of(p.type(v).dtype),
                p.type(v).shape};
    arguments.push_back(fmt::format("{}: {}{}", r.name, r.type(), more));
    values[static_cast<size_t>(v)] = r;
  };
  for (const Named& i : p.inputs) argument(i.value, "");
  for (size_t s = 0; s < p.states.size(); ++s) {
    std::string donated;
    if (p.states[s].next != kNoValue) {
      donated =
          fmt::format(" {{tf.aliasing_output = {} : i32}}", m.outputs.size() + m.written.size());
      m.written.push_back(s);
    }
    argument(p.states[s].value, donated);
  }

  for (const Node& n : p.nodes) {
    const NodeView view{p, n};
    Refs in;
    for (const ValueId v : n.in)
      in.push_back(v == kNoValue ? Ref{} : values[static_cast<size_t>(v)]);
    const WriteOp write = writer_of(*n.op);
    HONE_BUG_IF(write == nullptr, "{} is not lowered", n.op->name);
    const Refs out = write(w, view, in);
    for (size_t k = 0; k < n.out.size(); ++k) {
      const Ref& r = out[k];
      HONE_BUG_IF(r.shape != view.out(k).shape || r.element != element_of(view.out(k).dtype),
                  "{} writes {}, the node has {}", n.op->name, r.type(), view.out(k).text());
      values[static_cast<size_t>(n.out[k])] = r;
    }
  }

  Refs results;
  for (const ValueId v : m.outputs) results.push_back(values[static_cast<size_t>(v)]);
  for (const size_t s : m.written) results.push_back(values[static_cast<size_t>(p.states[s].next)]);
  m.text = w.module(arguments, results);
  return m;
}

}  // namespace hone::xla
