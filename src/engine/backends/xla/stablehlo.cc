#include "engine/backends/xla/stablehlo.h"

#include <algorithm>
#include <map>

#include "engine/backends/xla/write_ops.h"
#include "engine/device/errors.h"

namespace hone::xla {

namespace {

// The begins of a slice, if ranks take other rows of the tensor.
using Begins = std::map<size_t, std::vector<int64_t>>;  // by node

ModuleText write_with(const Program& p, const Begins& begins) {
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

  for (size_t i = 0; i < p.nodes.size(); ++i) {
    const Node& n = p.nodes[i];
    const NodeView view{p, n};
    Refs in;
    for (const ValueId v : n.in)
      in.push_back(v == kNoValue ? Ref{} : values[static_cast<size_t>(v)]);
    const WriteOp write = writer_of(*n.op);
    HONE_BUG_IF(write == nullptr, "{} is not lowered", n.op->name);
    const auto own = begins.find(i);
    const Refs out = own == begins.end()
                         ? write(w, view, in)
                         : Refs{w.slice_of_replica(in[0], view.integer("axis"), own->second,
                                                   view.integer("end") - view.integer("begin"))};
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

Error differ(const Program& p, const std::string& what) {
  return Error(err::kDeclined, fmt::format("the ranks' programs {} differ: {}", p.name, what))
      .todo("let the number of devices divide the rows of each weight, or take `zero_stage` 0");
}

// Equal but for `ignored`.
bool same_attrs(const Attrs& a, const Attrs& b, const std::vector<std::string>& ignored) {
  Attrs x = a, y = b;
  for (const std::string& name : ignored) {
    x.set(name, int64_t{0});
    y.set(name, int64_t{0});
  }
  return x == y;
}

// Compares node i of a rank with that of rank 0.
Status compare_nodes(const Program& first, const Program& own, size_t i) {
  const Node &a = first.nodes[i], &b = own.nodes[i];
  const bool slices = a.op->name == "slice", shares = a.op->traffic != nullptr;
  std::vector<std::string> ignored;
  if (slices) ignored = {"begin", "end"};
  if (shares) ignored = {"rank"};
  if (a.op != b.op || a.in != b.in || a.out != b.out || !same_attrs(a.attrs, b.attrs, ignored))
    return differ(first, fmt::format("node {} is {} and {}", i, a.op->name, b.op->name));
  for (const ValueId v : a.out)
    if (first.type(v) != own.type(v))
      return differ(first, fmt::format("{} of {} makes {} and {}", a.op->name, a.scope,
                                       first.type(v).text(), own.type(v).text()));
  return Ok{};
}

}  // namespace

ModuleText write_module(const Program& p) { return write_with(p, {}); }

bool has_collectives(const Program& p) {
  return std::any_of(p.nodes.begin(), p.nodes.end(),
                     [](const Node& n) { return n.op->traffic != nullptr; });
}

Result<ModuleText> write_replicas(std::span<const Program* const> ranks) {
  const Program& first = *ranks[0];
  Begins begins;
  for (const Program* own : ranks) {
    if (own->nodes.size() != first.nodes.size() || own->states.size() != first.states.size() ||
        own->inputs.size() != first.inputs.size())
      return differ(first, "they have other nodes or states");
    for (size_t s = 0; s < first.states.size(); ++s)
      if (first.type(first.states[s].value) != own->type(own->states[s].value))
        return differ(first, fmt::format("state {} is {} and {}", first.states[s].name,
                                         first.type(first.states[s].value).text(),
                                         own->type(own->states[s].value).text()));
    for (size_t i = 0; i < first.nodes.size(); ++i) {
      HONE_TRY(compare_nodes(first, *own, i));
      if (first.nodes[i].op->name == "slice")
        begins[i].push_back(NodeView{*own, own->nodes[i]}.integer("begin"));
    }
  }
  std::erase_if(begins, [](const auto& b) {
    return std::all_of(b.second.begin(), b.second.end(),
                       [&](int64_t x) { return x == b.second[0]; });
  });
  return write_with(first, begins);
}

}  // namespace hone::xla
