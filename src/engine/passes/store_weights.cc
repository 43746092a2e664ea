#include "engine/passes/store_weights.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/graph/op.h"

namespace hone {
namespace {

// The readers of a value.
struct Readers {
  std::vector<Node*> linear,
      embedding;                       // products and look-ups with scales, as their stored weight
  bool rows = false, columns = false;  // of linear: with trans_w, without
  bool unscaled = false;               // products without scales, as their stored weight
  bool others = false;
};

Readers readers_of(Program& p, ValueId v) {
  Readers r;
  for (Node& n : p.nodes)
    for (size_t i = 0; i < n.in.size(); ++i) {
      if (n.in[i] != v) continue;
      if (n.op->stored_weight != i) {
        r.others = true;
      } else if (!n.op->takes("scales")) {
        r.unscaled = true;
      } else if (n.op->product) {
        r.linear.push_back(&n);
        (n.attrs.flag("trans_w") ? r.rows : r.columns) = true;
      } else {
        r.embedding.push_back(&n);
      }
    }
  for (const Named& o : p.outputs) r.others |= o.value == v;
  return r;
}

void set_scales(Node& n, ValueId v) {
  const size_t i = slot_of(*n.op, "scales", n.in.size());
  n.in.resize(std::max(n.in.size(), i + 1), kNoValue);
  n.in[i] = v;
}

// Keeps the state so and tells its readers.
void keep(Program& p, size_t state, DType dtype, const Readers& r) {
  const std::string name = p.states[state].name;
  Type& type = p.values[static_cast<size_t>(p.states[state].value)].type;
  type.dtype = dtype;
  if (dtype == DType::bf16) {
    for (Node* n : r.embedding) n->attrs.set("dtype", std::string("f32"));
    return;
  }
  if (r.linear.empty() && r.embedding.empty()) return;
  State scales;
  scales.name = r.columns ? column_scales_name(name) : row_scales_name(name);
  scales.role = Role::param;
  const ValueId v = p.add_state(std::move(scales), {DType::f32, {type.shape[r.columns ? 1 : 0]}});
  for (Node* n : r.linear) set_scales(*n, v);
  for (Node* n : r.embedding) set_scales(*n, v);
}

}  // namespace

std::string row_scales_name(const std::string& weight) { return weight + ".row_scales"; }
std::string column_scales_name(const std::string& weight) { return weight + ".column_scales"; }

Result<bool> store_weights(Program& p, WeightStorage as) {
  if (as == WeightStorage::f32) return false;
  bool any = false;
  const size_t states = p.states.size();  // scales are added after
  for (size_t s = 0; s < states; ++s) {
    const State state = p.states[s];
    const Type& type = p.type(state.value);
    if (state.role != Role::param || state.next != kNoValue || type.dtype != DType::f32) continue;
    const Readers r = readers_of(p, state.value);
    if (r.others) continue;
    const bool unscaled_alone = r.unscaled && r.linear.empty() && r.embedding.empty();
    if (unscaled_alone && as == WeightStorage::bf16) {
      keep(p, s, DType::bf16, r);
      any = true;
    }
    if (r.unscaled || r.linear.empty() || r.rows == r.columns) continue;
    if (r.columns && !r.embedding.empty()) continue;
    any = true;
    const DType dtype = as == WeightStorage::bf16 ? DType::bf16 : DType::i8;
    keep(p, s, dtype, r);
  }
  return any;
}

void store_alike(std::span<Program> programs) {
  std::map<std::string, DType> kept;
  std::set<std::string> names;
  for (const Program& p : programs)
    for (const State& s : p.states) {
      names.insert(s.name);
      if (const DType dtype = p.type(s.value).dtype;
          s.role == Role::param && (dtype == DType::bf16 || dtype == DType::i8))
        kept[s.name] = dtype;
    }
  for (Program& p : programs) {
    const size_t states = p.states.size();
    for (size_t s = 0; s < states; ++s) {
      const auto found = kept.find(p.states[s].name);
      if (found == kept.end() || p.type(p.states[s].value).dtype != DType::f32) continue;
      const Readers r = readers_of(p, p.states[s].value);
      const bool by_rows =
          found->second == DType::bf16 || names.contains(row_scales_name(found->first));
      if (!r.linear.empty() || r.others || (!r.embedding.empty() && !by_rows)) continue;
      keep(p, s, found->second, r);
    }
  }
}

}  // namespace hone
