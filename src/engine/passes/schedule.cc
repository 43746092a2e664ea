#include "engine/passes/schedule.h"

#include <algorithm>
#include <utility>

#include "engine/graph/op.h"
#include "engine/plan/buffers.h"
#include "engine/plan/offsets.h"

namespace hone {
namespace {

constexpr int64_t kSmallBytes = 4096;

// The most bytes of transients alive at one node.
int64_t peak_of(const Program& p) {
  std::vector<Lifetime> transients;
  for (const Buffers::Buffer& b : share_storage(p).all)
    if (b.state < 0 && b.bytes > 0 && b.space == Space::device)
      transients.push_back({b.bytes, b.first, b.last});
  return most_alive(transients);
}

// Node order[i] becomes the i-th.
void put_in_order(Program& p, const std::vector<size_t>& order) {
  std::vector<Node> nodes;
  nodes.reserve(order.size());
  for (const size_t i : order) nodes.push_back(std::move(p.nodes[i]));
  p.nodes = std::move(nodes);
  p.renumber_producers();
}

class Scheduling {
 public:
  Scheduling(const Program& program, bool with_small) : p(program), with_small_(with_small) {
    const size_t count = p.nodes.size();
    root_.resize(p.values.size());
    for (size_t v = 0; v < root_.size(); ++v) root_[v] = v;
    readers_.resize(p.values.size());
    kept_.assign(p.values.size(), false);
    for (const Named& n : p.inputs) kept_[static_cast<size_t>(n.value)] = true;
    for (const State& s : p.states) kept_[static_cast<size_t>(s.value)] = true;
    for (size_t i = 0; i < count; ++i) {
      const Node& n = p.nodes[i];
      if (is_view(p, n)) root_[static_cast<size_t>(n.out[0])] = root_of(n.in[0]);
      for (ValueId v : n.in) {
        if (v == kNoValue) continue;
        std::vector<size_t>& of = readers_[root_of(v)];
        if (of.empty() || of.back() != i) of.push_back(i);
      }
    }
    for (const Named& n : p.outputs) kept_[root_of(n.value)] = true;
    for (const State& s : p.states)
      if (s.next != kNoValue) kept_[root_of(s.next)] = true;
    left_.resize(p.values.size());
    listed_.resize(p.values.size());
    for (size_t v = 0; v < left_.size(); ++v) left_[v] = readers_[v].size();
    find_dependences();
    done_.assign(count, false);
  }

  std::vector<size_t> order() {
    for (size_t i = 0; i < p.nodes.size(); ++i)
      if (!done_[i] && p.nodes[i].in.empty() && is_small_update(i)) place(i);
    for (size_t i = 0; i < p.nodes.size(); ++i)
      if (!done_[i]) place(i);
    return std::move(order_);
  }

 private:
  size_t root_of(ValueId v) const { return root_[static_cast<size_t>(v)]; }

  // Finds the nodes that must come before each node: those that make its operands, and readers of a
  // value that it may overwrite, so the last reader of an old version stays before the new version.
  void find_dependences() {
    const size_t count = p.nodes.size();
    waits_.assign(count, 0);
    before_.resize(count);
    auto add = [&](size_t first, size_t second) {
      if (first >= second) return;  // as the order was
      before_[first].push_back(second);
      ++waits_[second];
    };
    for (size_t i = 0; i < count; ++i) {
      const Node& n = p.nodes[i];
      for (ValueId v : n.in)
        if (v != kNoValue && p.values[static_cast<size_t>(v)].node >= 0)
          add(static_cast<size_t>(p.values[static_cast<size_t>(v)].node), i);
      for (size_t k = 0; k < n.out.size(); ++k)
        for (size_t operand : inplace_inputs({p, n}, k)) {
          const size_t root = root_of(n.in[operand]);
          // A small value is not worth the wait for those that read it too.
          if (!kept_[root] && is_small_update(i)) continue;
          for (size_t reader : readers_[root]) add(reader, i);
        }
    }
    for (const State& s : p.states) {
      if (s.next == kNoValue) continue;
      const auto writer = static_cast<size_t>(p.values[static_cast<size_t>(s.next)].node);
      for (size_t reader : readers_[root_of(s.value)]) add(reader, writer);
    }
  }

  // An asynchronous node starts where it is, and is waited for where it is.
  static bool keeps_its_place(const Node& n) { return is_begun(n) || n.op->waits; }

  // Bytes that running the node now would add to those alive; less than 0: it frees some.
  int64_t growth(size_t i) {
    const Node& n = p.nodes[i];
    if (is_view(p, n)) return 0;
    int64_t bytes = 0;
    for (ValueId v : n.out)
      if (left_[static_cast<size_t>(v)] > 0 && !over_state(n, v)) bytes += p.type(v).bytes();
    ++list_;
    for (ValueId v : n.in) {
      if (v == kNoValue) continue;
      const size_t r = root_of(v);
      if (!kept_[r] && left_[r] == 1 && first_in_list(r)) bytes -= p.values[r].type.bytes();
    }
    return bytes;
  }

  // A node of the update that takes next to nothing, such as the squares of a gradient: what waits
  // for it may free much.
  bool is_small_update(size_t i) const {
    const Node& n = p.nodes[i];
    if (keeps_its_place(n)) return false;
    int64_t bytes = 0;
    for (ValueId v : n.out) bytes += p.type(v).bytes();
    return with_small_ && n.phase == Phase::update && bytes <= kSmallBytes;
  }

  // A part of a weight's update takes nothing and frees nothing: the last part frees the gradient.
  int64_t most_growth(size_t i) const {
    return with_small_ && p.nodes[i].phase == Phase::update ? 1 : 0;
  }

  // Whether the root was not asked for since list_ was counted up: an update has thousands.
  bool first_in_list(size_t root) { return std::exchange(listed_[root], list_) != list_; }

  // The new version of a state takes the old one's place.
  bool over_state(const Node& n, ValueId v) const {
    for (size_t operand : inplace_inputs({p, n}, result_index(n, v)))
      if (p.values[root_of(n.in[operand])].node < 0) return true;
    return false;
  }

  void place(size_t first) {
    std::vector<size_t> next{first};
    while (!next.empty()) {
      const size_t i = next.back();
      next.pop_back();
      if (done_[i]) continue;
      done_[i] = true;
      order_.push_back(i);
      std::vector<size_t> candidates;
      for (size_t j : before_[i])
        if (--waits_[j] == 0) candidates.push_back(j);
      ++list_;
      for (ValueId v : p.nodes[i].in) {
        if (v == kNoValue) continue;
        const size_t r = root_of(v);
        if (!first_in_list(r)) continue;
        if (--left_[r] == 1)  // the last reader would free it
          for (size_t j : readers_[r])
            if (!done_[j] && waits_[j] == 0) candidates.push_back(j);
      }
      // The earliest first, so that it is taken from the list's end.
      std::sort(candidates.rbegin(), candidates.rend());
      for (size_t j : candidates)
        if (!done_[j] && !keeps_its_place(p.nodes[j]) &&
            (growth(j) < most_growth(j) || is_small_update(j)))
          next.push_back(j);
    }
  }

  const Program& p;
  const bool with_small_;                     // small nodes of the update may move too
  std::vector<size_t> root_;                  // by value: whose storage a view shows
  std::vector<std::vector<size_t>> readers_;  // by root: nodes, ascending
  std::vector<size_t> left_;                  // by root: readers that have no place yet
  std::vector<size_t> listed_;                // by root: the list it was last met in
  size_t list_ = 0;
  std::vector<bool> kept_;                   // by root: alive outside of the program too
  std::vector<std::vector<size_t>> before_;  // by node: those that wait for it
  std::vector<size_t> waits_;                // by node: for how many
  std::vector<bool> done_;
  std::vector<size_t> order_;
};

// Whether the order changed: only where the most bytes alive at one node become fewer.
bool reorder(Program& p, bool with_small) {
  const std::vector<size_t> order = Scheduling(p, with_small).order();
  if (std::is_sorted(order.begin(), order.end())) return false;
  const int64_t before = peak_of(p);
  put_in_order(p, order);
  if (peak_of(p) < before) return true;
  std::vector<size_t> back(order.size());
  for (size_t i = 0; i < order.size(); ++i) back[order[i]] = i;
  put_in_order(p, back);
  return false;
}

}  // namespace

Result<bool> schedule(Program& p) {
  p.renumber_producers();
  const bool first = reorder(p, false), second = reorder(p, true);
  return first || second;
}

}  // namespace hone
