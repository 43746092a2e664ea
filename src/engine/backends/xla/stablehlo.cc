#include "engine/backends/xla/stablehlo.h"

#include <algorithm>

#include "engine/backends/xla/replicas.h"
#include "engine/backends/xla/write_ops.h"

namespace hone::xla {

namespace {

// A node whose rows ranks take in their own way.
Refs write_of_ranks(Writer& w, const NodeView& n, const Refs& in, size_t i, const Replicas& ranks) {
  const std::string& name = n.node.op->name;
  if (const auto own = ranks.begins.find(i); own != ranks.begins.end())
    return {w.slice_of_replica(in[0], n.integer("axis"), own->second,
                               n.integer("end") - n.integer("begin"))};
  const auto rows = n.node.in.empty() ? ranks.rows.end() : ranks.rows.find(n.node.in[0]);
  const auto axes = name == "reduce_sum" ? n.integers("axes") : std::vector<int64_t>();
  if (rows == ranks.rows.end() || std::find(axes.begin(), axes.end(), 0) == axes.end())
    return writer_of(*n.node.op)(w, n, in);
  return writer_of(*n.node.op)(w, n, {w.first_rows_of_replica(in[0], rows->second)});
}

// Keeps values that are computed again (passes/recompute.h) and weights that are gathered again
// (passes/shard.h) apart from those of the forward pass, with which the compiler would merge them, and
// after the gradients that come before them.
class Remade {
 public:
  explicit Remade(const Program& program) : p(program), differs_(p.values.size(), false) {}

  // The operands of the node. If it is computed again and all of them are those of the forward pass,
  // one is replaced.
  Refs operands(Writer& w, const Node& n, const Refs& values) {
    Refs in;
    for (const ValueId v : n.in)
      in.push_back(v == kNoValue ? Ref{} : values[static_cast<size_t>(v)]);
    if (n.phase == Phase::backward && n.op->name == "all_gather" && !gradient_.name.empty()) {
      in.push_back(gradient_);
      in = w.barrier(in);
      in.pop_back();
      return in;
    }
    const bool again = n.clone && n.phase == Phase::backward;
    bool differs = std::any_of(n.in.begin(), n.in.end(), [&](ValueId v) {
      return v != kNoValue && differs_[static_cast<size_t>(v)];
    });
    if (again && !differs)
      if (const size_t at = kept_operand(n); at < n.in.size()) {
        Refs apart{in[at]};
        if (!gradient_.name.empty()) apart.push_back(gradient_);
        in[at] = w.barrier(apart)[0];
        differs = true;
      }
    if (again && differs)
      for (const ValueId v : n.out) differs_[static_cast<size_t>(v)] = true;
    return in;
  }
  // The node has this result.
  void made(const Node& n, const Ref& result) {
    if (n.phase == Phase::backward && !n.clone) gradient_ = result;
  }

 private:
  // The first operand that is not computed again, an activation rather than a state; else their
  // number.
  size_t kept_operand(const Node& n) const {
    size_t found = n.in.size();
    for (size_t i = n.in.size(); i-- > 0;) {
      if (n.in[i] == kNoValue) continue;
      const int32_t at = p.values[static_cast<size_t>(n.in[i])].node;
      if (at >= 0 ? !p.nodes[static_cast<size_t>(at)].clone : found == n.in.size()) found = i;
    }
    return found;
  }

  const Program& p;
  std::vector<bool> differs_;  // by value: from that of the forward pass that it stands for
  Ref gradient_;               // the last result of the backward pass
};

// The names of the dropouts of the program, each once.
std::vector<std::string> dropout_places(const Program& p) {
  std::vector<std::string> places;
  for (const Node& n : p.nodes) {
    const std::string& op = n.op->name;
    const bool attends = op == "attention" || op == "attention_grad";
    const NodeView view{p, n};
    if (attends ? view.real("dropout") <= 0
                : op != "dropout_mask" && op != "attention_dropout_mask")
      continue;
    if (std::find(places.begin(), places.end(), view.text("key")) == places.end())
      places.push_back(view.text("key"));
  }
  return places;
}

ModuleText write_with(const Program& p, const Replicas& ranks, Integers integers) {
  ModuleText m;
  for (const Named& o : p.outputs) {
    if (std::find(m.outputs.begin(), m.outputs.end(), o.value) != m.outputs.end()) continue;
    m.outputs.push_back(o.value);
    m.results.push_back(p.type(o.value));
  }

  Writer w(integers, dropout_places(p));
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
    m.states.push_back(p.type(p.states[s].value));
  }

  Remade remade(p);
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    const Node& n = p.nodes[i];
    const NodeView view{p, n};
    const Refs in = remade.operands(w, n, values);
    HONE_BUG_IF(writer_of(*n.op) == nullptr, "{} is not lowered", n.op->name);
    const Refs out = write_of_ranks(w, view, in, i, ranks);
    for (size_t k = 0; k < n.out.size(); ++k) {
      const Ref& r = out[k];
      HONE_BUG_IF(r.shape != view.out(k).shape || r.element != element_of(view.out(k).dtype),
                  "{} writes {}, the node has {}", n.op->name, r.type(), view.out(k).text());
      values[static_cast<size_t>(n.out[k])] = r;
    }
    remade.made(n, out[0]);
  }

  Refs results;
  for (const ValueId v : m.outputs) results.push_back(values[static_cast<size_t>(v)]);
  for (const size_t s : m.written) results.push_back(values[static_cast<size_t>(p.states[s].next)]);
  m.text = w.module(arguments, results);
  return m;
}

}  // namespace

ModuleText write_module(const Program& p, Integers integers) { return write_with(p, {}, integers); }

bool has_collectives(const Program& p) {
  return std::any_of(p.nodes.begin(), p.nodes.end(),
                     [](const Node& n) { return n.op->traffic != nullptr; });
}

Result<ModuleText> write_replicas(std::span<const Program* const> ranks, Integers integers) {
  const Replicas replicas = HONE_TRY(compare_replicas(ranks));
  return write_with(*replicas.widest, replicas, integers);
}

}  // namespace hone::xla
