#include "engine/passes/shard.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/ops/ops.h"
#include "engine/passes/moved_views.h"
#include "engine/passes/offload.h"
#include "engine/plan/buffers.h"

namespace hone {
namespace {

size_t id_of(ValueId v) { return static_cast<size_t>(v); }

// A weight of which the state holds some rows.
struct Weight {
  size_t state = 0;
  std::string name;
  Type whole;
  RowRange held;
};

// Nodes that use a weight.
struct WeightStay {
  size_t weight = 0;
  size_t begin = 0, end = 0;
};

// Weights that are gathered together.
struct Gather {
  size_t begin = 0;  // the first node that uses one of them
  std::vector<size_t> weights;
  int64_t bytes = 0;
  Values coming;
};

class Sharder {
 public:
  Sharder(Program& program, const Sharding& how)
      : p(program), how_(how), b_(program), weight_of_(program.values.size(), -1), views_(program) {
    root_.resize(p.values.size());
    for (size_t v = 0; v < root_.size(); ++v) root_[v] = static_cast<ValueId>(v);
  }

  bool run() {
    for (size_t s = 0; s < p.states.size(); ++s) {
      const State& state = p.states[s];
      const Type& type = p.type(state.value);
      if (!how_.shards(state, type)) continue;
      weight_of_[id_of(state.value)] = static_cast<int32_t>(weights_.size());
      weights_.push_back({s, state.name, type, how_.held(state.name, type.shape[0])});
    }
    if (weights_.empty()) return false;
    keep_new_rows();
    find_stays();
    find_gathers();
    for (const Weight& w : weights_) become_rows(w);
    rewrite();
    return true;
  }

 private:
  void become_rows(const Weight& w) {
    State& s = p.states[w.state];
    p.values[id_of(s.value)].type.shape[0] = w.held.count();
    s.shard = {w.name, w.held.begin, w.whole.shape[0], w.held};
    s.name += fmt::format("[{}:{}]", w.held.begin, w.held.end);
  }

  // New versions are the rows that this rank made: the update no longer gathers them.
  void keep_new_rows() {
    removed_.assign(p.nodes.size(), false);
    std::map<ValueId, size_t> next;  // new version -> weight
    for (size_t w = 0; w < weights_.size(); ++w)
      if (const State& s = p.states[weights_[w].state]; s.next != kNoValue) next[s.next] = w;
    for (size_t i = 0; i < p.nodes.size(); ++i) {
      const Node& n = p.nodes[i];
      if (n.op->waits && next.contains(n.out[0])) {
        take_out(n.in[0], weights_[next.at(n.out[0])]);
        removed_[i] = true;
      } else if (const Weight* w = rows_of_weight(n)) {
        rows_[n.out[0]] = p.states[w->state].value;
        removed_[i] = true;
      }
    }
  }
  // A slice that is this rank's rows of a weight.
  const Weight* rows_of_weight(const Node& n) const {
    if (n.op->name != "slice" || n.attrs.integer("axis") != 0 || weight_of_[id_of(n.in[0])] < 0)
      return nullptr;
    const Weight& w = weights_[static_cast<size_t>(weight_of_[id_of(n.in[0])])];
    const RowRange rows{n.attrs.integer("begin"), n.attrs.integer("end")};
    return rows == w.held ? &w : nullptr;
  }
  // The result `gathered` of a collective, which is the new version of a weight.
  void take_out(ValueId gathered, const Weight& w) {
    const auto from = static_cast<size_t>(p.values[id_of(gathered)].node);
    Node& n = p.nodes[from];
    HONE_BUG_IF(!n.op->gathers, "'{}' is not updated in rows", w.name);
    const auto k = std::find(n.out.begin(), n.out.end(), gathered) - n.out.begin();
    p.states[w.state].next = n.in[static_cast<size_t>(k)];
    n.in.erase(n.in.begin() + k);
    n.out.erase(n.out.begin() + k);
    for (const char* list : {"rows", "units", "owners"}) {
      std::vector<int64_t> entries = n.attrs.integers(list);
      if (entries.empty()) continue;
      entries.erase(entries.begin() + k);
      n.attrs.set(list, entries);
    }
    removed_[from] = n.in.empty();
  }

  int32_t weight_of(ValueId v) const {
    return v == kNoValue || id_of(v) >= root_.size() ? -1 : weight_of_[id_of(root_[id_of(v)])];
  }

  void find_stays() {
    std::vector<std::optional<WeightStay>> last(weights_.size());
    std::vector<int64_t> ordinal(p.nodes.size());  // nodes before it that are not of the update
    int64_t count = 0;
    for (size_t i = 0; i < p.nodes.size(); ++i) {
      const Node& n = p.nodes[i];
      ordinal[i] = count;
      if (n.phase != Phase::update) ++count;
      if (removed_[i]) continue;
      if (is_view(p, n)) {
        root_[id_of(n.out[0])] = root_[id_of(n.in[0])];
        continue;  // made where it is read
      }
      for (ValueId v : n.in) {
        const int32_t w = weight_of(v);
        if (w < 0) continue;
        std::optional<WeightStay>& stay = last[static_cast<size_t>(w)];
        if (!stay || ordinal[i] - ordinal[stay->end] > kStayGap) {
          if (stay) stays_.push_back(*stay);
          stay = WeightStay{static_cast<size_t>(w), i, i};
        }
        stay->end = i;
      }
    }
    for (const auto& stay : last)
      if (stay) stays_.push_back(*stay);
    std::sort(stays_.begin(), stays_.end(), [](const WeightStay& a, const WeightStay& b) {
      return std::pair(a.begin, a.weight) < std::pair(b.begin, b.weight);
    });
    ordinal_ = std::move(ordinal);
  }

  void find_gathers() {
    for (const WeightStay& stay : stays_) {
      const int64_t bytes = weights_[stay.weight].whole.bytes();
      const bool joins = !gathers_.empty() && gathers_.back().bytes + bytes <= kGatherBytes &&
                         ordinal_[stay.begin] - ordinal_[gathers_.back().begin] < kStayGap;
      if (!joins) gathers_.push_back({stay.begin, {}, 0, {}});
      gathers_.back().weights.push_back(stay.weight);
      gathers_.back().bytes += bytes;
    }
  }

  void rewrite() {
    here_.assign(weights_.size(), kNoValue);
    std::vector<Node> nodes = std::exchange(p.nodes, {});
    old_ = &nodes;
    size_t next = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
      b_.set_phase(nodes[i].phase);
      if (i == 0) start(0);
      for (; next < gathers_.size() && gathers_[next].begin == i; ++next) {
        receive(gathers_[next]);
        start(next + 1);
      }
      const bool is_of_weight = is_view(p, nodes[i]) && weight_of(nodes[i].in[0]) >= 0;
      if (removed_[i] || is_of_weight) continue;
      Node n = nodes[i];
      b_.set_scope(n.scope);
      for (ValueId& v : n.in) v = now(v);
      p.nodes.push_back(std::move(n));
    }
    for (State& s : p.states)
      if (const auto rows = rows_.find(s.next); rows != rows_.end()) s.next = rows->second;
    p.renumber_producers();
  }

  void start(size_t k) {
    if (k >= gathers_.size()) return;
    Gather& g = gathers_[k];
    Values parts;
    std::vector<int64_t> rows;
    ops::Split split{how_.share};
    bool plain = true;
    for (const size_t i : g.weights) {
      const Weight& w = weights_[i];
      const auto unit = how_.units.find(w.name);
      split.units.push_back(unit == how_.units.end() ? 1 : unit->second);
      plain = plain && split.units.back() == 1;
      parts.push_back(p.states[w.state].value);
      rows.push_back(w.whole.shape[0]);
    }
    if (plain) split.units.clear();
    b_.set_scope("weights." + weights_[g.weights[0]].name);
    g.coming = ops::all_gather(b_, parts, rows, split);
  }
  void receive(const Gather& g) {
    for (size_t k = 0; k < g.weights.size(); ++k) {
      b_.set_scope("weights." + weights_[g.weights[k]].name);
      here_[g.weights[k]] = ops::wait(b_, g.coming[k]);
    }
  }

  // The value that a node reads for `v`.
  ValueId now(ValueId v) {
    if (v == kNoValue) return v;
    if (const auto rows = rows_.find(v); rows != rows_.end()) return rows->second;
    const int32_t w = weight_of(v);
    if (w < 0) return v;
    const ValueId base = here_[static_cast<size_t>(w)];
    if (root_[id_of(v)] == v) return base;
    if (const ValueId view = views_.of(v, base); view != kNoValue) return view;
    const Node& made = (*old_)[static_cast<size_t>(p.values[id_of(v)].node)];
    const ValueId operand = now(made.in[0]);
    return views_.make(v, base, made, operand, b_.phase());
  }

  Program& p;
  const Sharding& how_;
  Builder b_;
  std::vector<Weight> weights_;
  std::vector<int32_t> weight_of_;   // by value: of an old version, or -1
  std::vector<ValueId> root_;        // by value: whose storage a view shows
  std::vector<bool> removed_;        // by node
  std::map<ValueId, ValueId> rows_;  // slices that are the states now
  std::vector<WeightStay> stays_;
  std::vector<int64_t> ordinal_;
  std::vector<Gather> gathers_;
  Values here_;  // by weight: all of it, by now
  MovedViews views_;
  const std::vector<Node>* old_ = nullptr;
};

}  // namespace

RowRange Sharding::held(const std::string& weight, int64_t rows) const {
  const auto unit = units.find(weight);
  return share_rows(rows, share, unit == units.end() ? 1 : unit->second);
}

bool Sharding::shards(const State& state, const Type& type) const {
  if (state.role != Role::param || type.rank() == 0 || type.count() < least_elements ||
      whole.contains(state.name))
    return false;
  const auto unit = units.find(state.name);
  const int64_t rows = unit == units.end() ? 1 : unit->second;
  return (type.shape[0] + rows - 1) / rows >= share.ranks;
}

Result<bool> shard(Program& p, const Sharding& how) {
  p.renumber_producers();
  return how.any() && Sharder(p, how).run();
}

}  // namespace hone
