#include "engine/passes/sync_batch_norms.h"

#include <map>
#include <set>
#include <utility>

#include "engine/ops/image_ops.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

// Rows that count, in f32.
struct SyncedCounts {
  ValueId by_rank = kNoValue;  // [ranks]
  ValueId all = kNoValue;      // []
};

class BatchNormSync {
 public:
  BatchNormSync(Program& program, const Share& ranks) : p(program), ranks_(ranks), b_(program) {}

  bool run() {
    bool any = false;
    for (const Node& n : p.nodes) {
      const bool norm = n.op->name == "batch_norm";
      if (!norm && n.op->name != "batch_norm_grad") continue;
      any = true;
      if (const ValueId rows = NodeView{p, n}.input("rows"); rows != kNoValue) rows_.insert(rows);
    }
    if (!any) return false;
    for (Node& n : std::exchange(p.nodes, {})) rewrite(std::move(n));
    for (Named& o : p.outputs) o.value = now(o.value);
    for (State& s : p.states) s.next = now(s.next);
    p.renumber_producers();
    return true;
  }

 private:
  ValueId now(ValueId v) const {
    const auto it = instead_.find(v);
    return it == instead_.end() ? v : it->second;
  }

  void rewrite(Node n) {
    for (ValueId& v : n.in) v = now(v);
    b_.set_phase(n.phase);
    b_.set_scope(n.scope);
    if (n.op->name == "batch_norm") return forward(std::move(n));
    if (n.op->name == "batch_norm_grad") return backward(std::move(n));
    const bool counts =
        n.op->name == "cast" && rows_.contains(n.in[0]) && p.type(n.out[0]).dtype == DType::f32;
    const ValueId rows = n.in.empty() ? kNoValue : n.in[0], made = counts ? n.out[0] : kNoValue;
    p.nodes.push_back(std::move(n));
    if (counts) instead_[made] = counts_of(rows, made).all;
  }

  // `made`: `rows` in f32, or none.
  const SyncedCounts& counts_of(ValueId rows, ValueId made) {
    SyncedCounts& c = counts_[rows];
    if (c.all != kNoValue) return c;
    if (made == kNoValue) made = ops::cast(b_, rows, DType::f32);
    c = gathered_counts(made);
    return c;
  }
  SyncedCounts gathered_counts(ValueId own) {
    SyncedCounts c;
    const Values all = ops::all_gather(b_, {ops::reshape(b_, own, {1})}, {ranks_.ranks}, {ranks_});
    c.by_rank = ops::wait(b_, all[0]);
    c.all = ops::reduce_sum(b_, c.by_rank, {0});
    return c;
  }
  SyncedCounts counts_of_node(const Node& n) {
    if (const ValueId rows = NodeView{p, n}.input("rows"); rows != kNoValue)
      return counts_of(rows, kNoValue);
    const auto rows = static_cast<double>(p.type(n.in[0]).shape[0]);
    return gathered_counts(ops::constant(b_, rows, {DType::f32, {}}));
  }

  // Mean and variance of all ranks' rows.
  std::pair<ValueId, ValueId> joined_moments(const Node& n, const SyncedCounts& counts) {
    const ValueId x = n.in[0];
    const int64_t columns = p.type(x).shape[1];
    const Shape row{1, columns}, table{ranks_.ranks, columns};
    const auto [mean, variance] = ops::column_moments(b_, x, NodeView{p, n}.input("rows"));
    const Values all =
        ops::all_gather(b_, {ops::reshape(b_, mean, row), ops::reshape(b_, variance, row)},
                        {ranks_.ranks, ranks_.ranks}, {ranks_});
    const ValueId means = ops::wait(b_, all[0]), variances = ops::wait(b_, all[1]);
    const ValueId share = ops::broadcast(b_, ops::div(b_, counts.by_rank, counts.all), table, {0});
    const ValueId whole = ops::reduce_sum(b_, ops::mul(b_, share, means), {0});
    const ValueId apart = ops::sub(b_, means, ops::broadcast(b_, whole, table, {1}));
    const ValueId squares = ops::add(b_, variances, ops::mul(b_, apart, apart));
    return {whole, ops::reduce_sum(b_, ops::mul(b_, share, squares), {0})};
  }

  void forward(Node n) {
    const auto [mean, variance] = joined_moments(n, counts_of_node(n));
    give(n, {{"mean", mean}, {"variance", variance}});
    p.nodes.push_back(std::move(n));
  }

  void backward(Node n) {
    const SyncedCounts counts = counts_of_node(n);
    Attrs attrs;
    attrs.set("eps", NodeView{p, n}.real("eps"));
    const Values own = b_.emit(
        "batch_norm_sums",
        {n.in[0], NodeView{p, n}.input("mean"), NodeView{p, n}.input("variance"),
         NodeView{p, n}.input("dy"), NodeView{p, n}.input("rows"), NodeView{p, n}.input("y")},
        attrs);
    const Values all = ops::all_reduce(b_, own, ranks_);
    const ValueId dgamma = ops::wait(b_, all[0]), dbeta = ops::wait(b_, all[1]);
    give(n, {{"dgamma", dgamma}, {"dbeta", dbeta}, {"count", counts.all}});
    instead_[n.out[1]] = own[0];
    instead_[n.out[2]] = own[1];
    p.nodes.push_back(std::move(n));
  }

  static void give(Node& n, const std::vector<std::pair<const char*, ValueId>>& values) {
    n.in.resize(n.op->operands.size(), kNoValue);
    for (const auto& [name, value] : values) n.in[slot_of(*n.op, name, n.in.size())] = value;
  }

  Program& p;
  const Share ranks_;
  Builder b_;
  std::set<ValueId> rows_;
  std::map<ValueId, ValueId> instead_;
  std::map<ValueId, SyncedCounts> counts_;
};

}  // namespace

Result<bool> sync_batch_norms(Program& p, const Share& ranks) {
  if (ranks.alone()) return false;
  p.renumber_producers();
  return BatchNormSync(p, ranks).run();
}

}  // namespace hone
