#include "engine/passes/divide_rows.h"

#include <map>
#include <utility>

#include "engine/ops/collective_parts.h"
#include "engine/ops/ops.h"
#include "engine/passes/simplify.h"

namespace hone {
namespace {

class RowDivider {
 public:
  RowDivider(Program& program, const RowDivision& how) : p(program), how_(how), b_(program) {}

  bool run() {
    bool any = false;
    const std::vector<int32_t> uses = count_uses(p);
    for (Node& n : std::exchange(p.nodes, {})) {
      b_.set_phase(n.phase);
      b_.set_scope(n.scope);
      for (ValueId& v : n.in) v = now(v);
      if (divides(n)) {
        divide(n, uses);
        any = true;
      } else {
        p.nodes.push_back(std::move(n));
      }
    }
    for (Named& o : p.outputs) o.value = now(o.value);
    for (State& s : p.states) s.next = now(s.next);
    p.renumber_producers();
    return any;
  }

 private:
  int64_t rows_of(const Node& n) const { return p.type(n.out[0]).shape[0]; }
  // A product of two matrices with enough rows for all ranks.
  bool divides(const Node& n) const {
    if (n.phase == Phase::update || n.lane != Lane::compute) return false;
    if (n.op->name != "linear" && (n.op->name != "matmul" || p.type(n.in[0]).rank() != 2))
      return false;
    return rows_of(n) / how_.share.ranks >= RowDivision::kLeastRows;
  }
  // Operands with a row for each row of the result, and the axis of these rows.
  static std::vector<std::pair<size_t, int64_t>> operands_with_rows(const Node& n) {
    const bool linear = n.op->name == "linear";
    return {{0, !linear && n.attrs.flag("trans_x") ? 1 : 0},
            {slot_of(*n.op, linear ? "residual" : "acc", n.in.size()), 0}};
  }

  void divide(const Node& n, const std::vector<int32_t>& uses) {
    const RowRange own = share_rows(rows_of(n), how_.share);
    Values in = n.in;
    for (const auto& [k, axis] : operands_with_rows(n))
      if (k < in.size() && in[k] != kNoValue)
        in[k] = ops::slice(b_, in[k], axis, own.begin, own.end);
    const Values made = b_.emit(n.op->name, in, n.attrs);
    Values parts, read;
    for (size_t k = 0; k < made.size(); ++k) {
      if (uses[static_cast<size_t>(n.out[k])] == 0) continue;
      parts.push_back(made[k]);
      read.push_back(n.out[k]);
    }
    Attrs attrs;
    set_split(attrs, {how_.share});
    attrs.set("first", how_.first);
    attrs.set("stride", int64_t{1});
    attrs.set("rows", std::vector<int64_t>(parts.size(), rows_of(n)));
    const Values whole = b_.emit("all_gather", parts, attrs);
    for (size_t k = 0; k < whole.size(); ++k) coming_[read[k]] = whole[k];
  }

  // The value that a node reads for `v`; a part that is on its way is waited for.
  ValueId now(ValueId v) {
    if (const auto coming = coming_.find(v); coming != coming_.end()) {
      here_[v] = ops::wait(b_, coming->second);
      coming_.erase(coming);
    }
    const auto here = here_.find(v);
    return here == here_.end() ? v : here->second;
  }

  Program& p;
  const RowDivision how_;
  Builder b_;
  std::map<ValueId, ValueId> coming_, here_;
};

}  // namespace

Result<bool> divide_rows(Program& p, const RowDivision& how) {
  return how.any() && RowDivider(p, how).run();
}

}  // namespace hone
