#include "engine/backends/cuda/joins.h"

#include <algorithm>
#include <unordered_map>

#include "engine/ops/ops.h"

namespace hone::cuda {
namespace {

bool is_on_device(const Program& p, const std::vector<ValueId>& values) {
  return std::all_of(values.begin(), values.end(),
                     [&](ValueId v) { return v == kNoValue || p.space(v) == Space::device; });
}
bool is_on_device(const Program& p, const Node& n) {
  return n.lane == Lane::compute && is_on_device(p, n.in) && is_on_device(p, n.out);
}

// The number of readers of each value, and the last of them.
struct Reads {
  explicit Reads(const Program& p) : count(p.values.size(), 0), last(p.values.size(), -1) {
    for (size_t i = 0; i < p.nodes.size(); ++i)
      for (const ValueId v : p.nodes[i].in)
        if (v != kNoValue) {
          ++count[static_cast<size_t>(v)];
          last[static_cast<size_t>(v)] = static_cast<int64_t>(i);
        }
    for (const Named& o : p.outputs) ++count[static_cast<size_t>(o.value)];
    for (const State& s : p.states)
      if (s.next != kNoValue) ++count[static_cast<size_t>(s.next)];
  }
  std::vector<int32_t> count;
  std::vector<int64_t> last;
};

// The sums of squares that node i puts beside each other; empty: it does something else too.
std::vector<size_t> squares_of(const Program& p, const Reads& reads, size_t i) {
  const Node& n = p.nodes[i];
  if (n.op->name != "concat" || !is_on_device(p, n)) return {};
  std::vector<size_t> sums;
  for (const ValueId v : n.in) {
    const int32_t made = p.values[static_cast<size_t>(v)].node;
    if (made < 0 || reads.count[static_cast<size_t>(v)] != 1) return {};
    const Node& sum = p.nodes[static_cast<size_t>(made)];
    if (sum.op->name != "sum_squares" || !is_on_device(p, sum)) return {};
    for (const ValueId x : sum.in)
      if (reads.last[static_cast<size_t>(x)] < static_cast<int64_t>(i)) return {};
    sums.push_back(static_cast<size_t>(made));
  }
  return sums;
}

bool join_squares(Program& p) {
  p.renumber_producers();
  const Reads reads(p);
  std::vector<bool> gone(p.nodes.size(), false);
  bool any = false;
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    const std::vector<size_t> sums = squares_of(p, reads, i);
    if (sums.empty()) continue;
    Node all = p.nodes[sums[0]];
    all.in.clear();
    for (const size_t sum : sums) {
      all.in.insert(all.in.end(), p.nodes[sum].in.begin(), p.nodes[sum].in.end());
      gone[sum] = true;
    }
    all.out = p.nodes[i].out;
    p.nodes[i] = std::move(all);
    any = true;
  }
  size_t i = 0;
  std::erase_if(p.nodes, [&](const Node&) { return gone[i++]; });
  return any;
}

// Updates beside each other, and the copies of what they make.
class UpdateRun {
 public:
  explicit UpdateRun(Program& p) : p_(p) {}

  bool run() {
    std::vector<Node> nodes = std::move(p_.nodes);
    p_.nodes.clear();
    for (Node& n : nodes) {
      if (takes_copy(n)) continue;
      if (!is_update(n) || !goes_with(n)) end();
      if (is_update(n)) {
        add(std::move(n));
        continue;
      }
      p_.nodes.push_back(std::move(n));
    }
    end();
    return any_;
  }

 private:
  static bool has_list(const Node& n, const char* attr) {
    return n.attrs.has(attr) && !n.attrs.integers(attr).empty();
  }
  static size_t count_of(const Node& n) { return static_cast<size_t>(n.attrs.integer("count")); }
  bool is_update(const Node& n) const {
    return n.op->attr("copied") && !has_list(n, "rows") && is_on_device(p_, n);
  }
  // The attributes that two updates must have in common.
  static Attrs shared_attrs(const Node& n) {
    Attrs a = n.attrs;
    for (const char* own : {"count", "decay", "round_keys", "copied", "copied_as", "halves"})
      a.erase(own);
    return a;
  }
  DType copy_type(const Node& n) const { return p_.type(n.out.back()).dtype; }
  DType type_of_copies() const { return p_.type(copies_[0]).dtype; }
  bool goes_with(const Node& n) const {
    if (updates_.empty()) return true;
    const Node& first = updates_[0];
    const auto scalars_of = [](const Node& u) {
      return std::vector<ValueId>(u.in.end() - 3, u.in.end());
    };
    return n.op == first.op && shared_attrs(n) == shared_attrs(first) &&
           scalars_of(n) == scalars_of(first) &&
           has_list(n, "round_keys") == has_list(first, "round_keys") &&
           (copies_.empty() || !has_list(n, "copied") || type_of_copies() == copy_type(n)) &&
           std::none_of(n.in.begin(), n.in.end(), [&](ValueId v) { return made_.contains(v); });
  }
  bool takes_copy(const Node& n) {
    if (updates_.empty() || n.op->name != "cast" || n.attrs.flag("saturate")) return false;
    const auto made = made_.find(n.in[0]);
    const DType as = p_.type(n.out[0]).dtype;
    if (made == made_.end() || made->second < 0 || !is_on_device(p_, n)) return false;
    if (p_.type(n.in[0]).dtype != DType::f32 || (as != DType::bf16 && as != DType::f16))
      return false;
    if (!copies_.empty() && type_of_copies() != as) return false;
    copied_.push_back(std::exchange(made->second, -1));
    copies_.push_back(n.out[0]);
    ++casts_;
    return true;
  }

  void add(Node n) {
    const size_t count = count_of(n);
    for (size_t k = 0; k < n.out.size(); ++k)
      made_[n.out[k]] = k < count ? static_cast<int64_t>(tensors_ + k) : -1;
    const std::vector<int64_t> copied = n.attrs.integers("copied");
    for (size_t k = 0; k < copied.size(); ++k) {
      copied_.push_back(static_cast<int64_t>(tensors_) + copied[k]);
      copies_.push_back(n.out[n.out.size() - copied.size() + k]);
      made_[n.out[static_cast<size_t>(copied[k])]] = -1;
    }
    for (const int64_t i : n.attrs.integers("halves"))
      halved_.push_back(static_cast<int64_t>(tensors_) + i);
    tensors_ += count;
    updates_.push_back(std::move(n));
  }

  // List `list` of each node: `of` is in or out, without what comes after the lists.
  void append(std::vector<ValueId>& to, size_t list, std::vector<ValueId> Node::*of) const {
    for (const Node& n : updates_) {
      const auto begin = (n.*of).begin() + static_cast<std::ptrdiff_t>(list * count_of(n));
      to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(count_of(n)));
    }
  }
  std::vector<int64_t> joined(const char* attr, bool wanted) const {
    std::vector<int64_t> all;
    if (!wanted) return all;
    for (const Node& n : updates_) {
      std::vector<int64_t> own = n.attrs.integers(attr);
      if (own.empty()) own.assign(count_of(n), 1);
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }

  void end() {
    if (updates_.size() + casts_ > 1) {
      p_.nodes.push_back(as_one());
      any_ = true;
    } else {
      for (Node& n : updates_) p_.nodes.push_back(std::move(n));
    }
    updates_.clear();
    copies_.clear();
    copied_.clear();
    halved_.clear();
    made_.clear();
    tensors_ = casts_ = 0;
  }
  Node as_one() const {
    const Node& first = updates_[0];
    Node all = first;
    const size_t lists = (first.in.size() - 3) / count_of(first);
    all.in.clear();
    all.out.clear();
    for (size_t list = 0; list < lists; ++list) append(all.in, list, &Node::in);
    all.in.insert(all.in.end(), first.in.end() - 3, first.in.end());
    for (size_t list = 0; list + 1 < lists; ++list) append(all.out, list, &Node::out);
    const auto has = [&](const char* attr) {
      return std::any_of(updates_.begin(), updates_.end(),
                         [&](const Node& n) { return has_list(n, attr); });
    };
    all.attrs.set("count", static_cast<int64_t>(tensors_));
    all.attrs.set("decay", joined("decay", has("decay")));
    if (has("round_keys")) all.attrs.set("round_keys", joined("round_keys", true));
    if (!halved_.empty()) all.attrs.set("halves", halved_);
    if (copies_.empty()) return all;
    all.attrs.set("copied", copied_);
    all.attrs.set("copied_as", std::string(name_of(type_of_copies())));
    all.out.insert(all.out.end(), copies_.begin(), copies_.end());
    return all;
  }

  Program& p_;
  std::vector<Node> updates_;
  std::vector<ValueId> copies_;
  std::vector<int64_t> copied_;  // tensors, in the order of the copies
  std::vector<int64_t> halved_;  // tensors
  std::unordered_map<ValueId, int64_t>
      made_;  // new weights, to their tensors; -1: states, or copied
  size_t tensors_ = 0, casts_ = 0;
  bool any_ = false;
};

}  // namespace

bool join_nodes(Program& p) {
  const bool squares = join_squares(p), updates = UpdateRun(p).run();
  p.renumber_producers();
  return squares || updates;
}

}  // namespace hone::cuda
