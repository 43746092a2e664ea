#include "engine/passes/recompute.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "engine/graph/op.h"
#include "engine/plan/buffers.h"
#include "engine/plan/live.h"

namespace hone {
namespace {

constexpr int32_t kNever = std::numeric_limits<int32_t>::max();

size_t at(int32_t i) { return static_cast<size_t>(i); }

// "h.3" of "h.3.attn"; empty where the scope has no number.
std::string_view block_of(std::string_view scope) {
  size_t begin = 0;
  while (begin < scope.size()) {
    const size_t end = std::min(scope.find('.', begin), scope.size());
    const std::string_view part = scope.substr(begin, end - begin);
    if (part.find_first_not_of("0123456789") == std::string_view::npos) return scope.substr(0, end);
    begin = end + 1;
  }
  return {};
}

// The recomputed values and their places. Lifetimes refer to nodes of the original program: a clone
// is placed before the node in which it is needed.
class Recomputing {
 public:
  Recomputing(Program& program, const Speeds& speeds)
      : p(program), speeds_(speeds), live_(static_cast<int32_t>(p.nodes.size())) {
    backward_ = end();
    for (int32_t i = end(); i-- > 0;)
      if (node(i).phase == Phase::backward) backward_ = i;
    root_.resize(p.values.size());
    for (size_t v = 0; v < root_.size(); ++v) root_[v] = static_cast<ValueId>(v);
    values_.resize(p.values.size());
    nodes_.resize(at(backward_));
    for (int32_t i = 0; i < end(); ++i) {
      for (ValueId v : node(i).in)
        if (v != kNoValue) read(value(v), i);
      if (is_view(p, node(i))) root_[at(node(i).out[0])] = root_[at(node(i).in[0])];
    }
    for (const Named& o : p.outputs) value(o.value).last = end();
    for (const State& s : p.states)
      if (s.next != kNoValue) value(s.next).last = end();
    for (const Named& in : p.inputs) value(in.value).always = true;
    for (const State& s : p.states) value(s.value).always = true;
    for (const Buffers::Buffer& b : share_storage(p).all)
      if (b.state < 0 && b.space == Space::device) live_.add(b.first, b.last, b.bytes);
    for (int32_t i = 0; i < backward_; ++i) look_at(i);
  }

  bool has_backward() const { return backward_ < end(); }

  // Recomputes values that blocks keep for themselves.
  void drop_blocks() {
    const std::vector<bool> between = between_blocks();
    for (int32_t i = 0; i < backward_; ++i)
      for (ValueId v : node(i).out) nodes_[at(i)].stays |= between[at(root_[at(v)])];
    for (int32_t i = backward_; i-- > 0;)
      if (!block_of(node(i).scope).empty() && may_make_again({i, false})) apply({i, false});
  }
  void drop_share(double share) {
    const auto less = static_cast<int64_t>((1 - share) * static_cast<double>(kept_));
    drop_until(live_.at(backward_) - less, [this] { return backward_; });
  }
  void drop_to(int64_t bytes) {
    for (const State& s : p.states)
      if (s.role == Role::grad) bytes -= p.type(s.value).bytes();
    drop_until(bytes, [this] { return live_.where(); });
  }

  // Recomputes values, those first that free most bytes at a node for their time, until it has at
  // most `bytes` or no value frees any without a higher peak. Each recomputed value changes the
  // bytes and costs of the others, so each is evaluated again when its turn comes.
  template <class Where>
  void drop_until(int64_t bytes, Where where) {
    for (bool any = true; any && live_.at(where()) > bytes;) {
      any = false;
      std::priority_queue<Change> next;
      for (int32_t i = 0; i < backward_; ++i)
        for (const bool activation : {true, false})
          if (may_make_again({i, activation}))
            if (const Change c = try_out({i, activation}, where()); c.helps()) next.push(c);
      while (!next.empty() && live_.at(where()) > bytes) {
        const Make what = next.top().what;
        next.pop();
        if (!may_make_again(what)) continue;
        const Change now = try_out(what, where());
        if (!now.helps()) continue;
        if (!next.empty() && now < next.top()) {
          next.push(now);
          continue;
        }
        apply(what);
        any = true;
      }
    }
  }

  // Puts the clones into the program.
  bool rewrite() {
    std::vector<std::vector<Make>> made(p.nodes.size());  // before each node
    bool any = false;
    for (int32_t i = 0; i < backward_; ++i) {
      const Knot& k = nodes_[at(i)];
      if (k.need < kNever) made[at(k.need)].push_back({i, false});
      if (k.activation < kNever) made[at(k.activation)].push_back({i, true});
      any = any || k.need < kNever || k.activation < kNever;
    }
    if (!any) return false;
    now_.resize(p.values.size());
    for (size_t v = 0; v < now_.size(); ++v) now_[v] = static_cast<ValueId>(v);
    for (size_t i = 0; i < p.nodes.size(); ++i) {
      for (const Make& m : made[i]) add_clone(m);
      Node n = p.nodes[i];
      if (static_cast<int32_t>(i) >= backward_)
        for (ValueId& v : n.in) v = current(v);
      rewritten_.push_back(std::move(n));
    }
    p.nodes = std::move(rewritten_);
    p.renumber_producers();
    return true;
  }

 private:
  int32_t end() const { return static_cast<int32_t>(p.nodes.size()); }
  struct Value {            // by root
    int32_t early = -1;     // the last node of the forward pass that makes or reads it
    int32_t late = kNever;  // the first node after that pass, or clone there, that reads it
    int32_t last = -1;      // the last node, or clone, that reads it
    bool always = false;    // an input or a state
  };
  struct Knot {  // a node of the forward pass
    double seconds = 0;
    int32_t need = kNever;        // the node before which it is made again
    int32_t activation = kNever;  // the node before which its activation alone is
    bool stays = false;           // is never made again
    bool view = false;
  };
  struct Make {
    int32_t node = 0;
    bool activation = false;  // it alone
  };
  struct Change {
    Make what;
    int64_t freed = 0;
    int64_t higher = 0;  // bytes that the peak is higher by, wherever it is
    double seconds = 0;
    int32_t idle = 0;  // the nodes while which it is not in memory
    bool helps() const { return freed > 0 && higher <= 0; }
    double rate() const { return static_cast<double>(freed) / std::max(seconds, 1e-12); }
    bool operator<(const Change& o) const {  // less worth it
      if (rate() != o.rate()) return rate() < o.rate();
      return idle != o.idle ? idle < o.idle : what.node > o.what.node;
    }
  };

  Value& value(ValueId v) { return values_[at(root_[at(v)])]; }
  int64_t bytes(ValueId v) const { return p.type(v).bytes(); }
  const Node& node(int32_t i) const { return p.nodes[at(i)]; }
  void read(Value& v, int32_t i) const {
    if (i < backward_)
      v.early = i;
    else
      v.late = std::min(v.late, i);
    v.last = std::max(v.last, i);
  }

  void look_at(int32_t i) {
    const Node& n = node(i);
    Knot& k = nodes_[at(i)];
    k.view = is_view(p, n);
    k.stays = n.op->copies || n.op->waits || n.op->traffic;  // other ranks do a collective once
    if (k.view) return;
    k.seconds = seconds_of({p, n}, speeds_);
    for (ValueId v : n.out) {
      Value& x = values_[at(v)];
      x.early = std::max(x.early, i);
      x.last = std::max(x.last, i);
      if (x.last == end()) k.stays = true;
      if (x.late < kNever) kept_ += bytes(v);
    }
  }

  // By root: whether another block reads it than the one that makes it.
  std::vector<bool> between_blocks() const {
    std::vector<bool> is(p.values.size(), false);
    for (int32_t i = 0; i < backward_; ++i) {
      if (nodes_[at(i)].view) continue;
      for (ValueId v : node(i).in) {
        if (v == kNoValue) continue;
        const ValueId root = root_[at(v)];
        const int32_t made = p.values[at(root)].node;
        if (made >= 0 && block_of(node(made).scope) != block_of(node(i).scope)) is[at(root)] = true;
      }
    }
    return is;
  }

  // A node with a result that waits for the backward pass; of its activation alone, one that keeps
  // what it applied it to.
  bool may_make_again(const Make& m) const {
    const Knot& k = nodes_[at(m.node)];
    if (k.view || k.stays || k.need < kNever) return false;
    const Node& n = node(m.node);
    const auto waits = [&](ValueId v) { return values_[at(v)].late < kNever; };
    if (m.activation)
      return k.activation == kNever && keeps_what_it_activates(n) && waits(n.out[0]) &&
             waits(n.out[1]);
    return std::any_of(n.out.begin(), n.out.end(), waits);
  }

  void apply(const Make& what) {
    make_again(what);
    log_.clear();
  }
  Change try_out(const Make& what, int32_t where) {
    const int64_t before = live_.at(where), peak = live_.most();
    const double seconds = seconds_;
    int32_t idle = 0;
    for (ValueId v : node(what.node).out)
      if (const Value& x = values_[at(v)]; x.late < kNever) idle = std::max(idle, x.late - x.early);
    make_again(what);
    const Change c{what, before - live_.at(where), live_.most() - peak, seconds_ - seconds, idle};
    for (; !log_.empty(); log_.pop_back()) {
      const Undo& u = log_.back();
      if (u.place)
        *u.place = u.was;
      else
        live_.add(u.first, u.last, -u.bytes);
    }
    seconds_ = seconds;
    return c;
  }

  // A change that can be taken back: of one number, or of bytes alive.
  struct Undo {
    int32_t* place = nullptr;
    int32_t was = 0;
    int32_t first = 0, last = 0;
    int64_t bytes = 0;
  };
  void add(int32_t first, int32_t last, int64_t count) {
    if (first > last) return;
    live_.add(first, last, count);
    log_.push_back({nullptr, 0, first, last, count});
  }
  void set(int32_t& place, int32_t to) {
    log_.push_back({&place, place, 0, 0, 0});
    place = to;
  }

  void make_again(const Make& what) {
    const Node& n = node(what.node);
    int32_t when = kNever;
    if (!what.activation) {
      for (ValueId v : n.out) when = std::min(when, values_[at(v)].late);
      make_before(what.node, when);
      return;
    }
    const Value& y = values_[at(n.out[0])];
    seconds_ += seconds_of_activation(n);
    set(nodes_[at(what.node)].activation, y.late);
    add(y.early + 1, y.late - 1, -bytes(n.out[0]));
    require(n.out[1], y.late);
  }
  double seconds_of_activation(const Node& n) const {
    return 2 * static_cast<double>(bytes(n.out[0])) / speeds_.bytes_per_second;
  }

  // A node that has no clone gets one.
  void make_before(int32_t i, int32_t when) {
    const Node& n = node(i);
    Knot& k = nodes_[at(i)];
    seconds_ += k.seconds;
    if (k.activation < kNever) {  // the clone makes it too
      seconds_ -= seconds_of_activation(n);
      add(values_[at(n.out[0])].early + 1, k.activation - 1, bytes(n.out[0]));
      set(k.activation, kNever);
    }
    set(k.need, when);
    for (ValueId v : n.out) {
      const Value& x = values_[at(v)];
      if (x.last >= backward_)
        add(x.early + 1, when - 1, -bytes(v));
      else
        add(when, when, bytes(v));
    }
    for (ValueId v : n.in)
      if (v != kNoValue) require(root_[at(v)], when);
  }

  // A clone reads the root before node `when`.
  void require(ValueId root, int32_t when) {
    Value& v = values_[at(root)];
    const int32_t made = p.values[at(root)].node;
    if (v.always || made < 0 || made >= backward_) return;
    const Node& n = node(made);
    Knot& k = nodes_[at(made)];
    const bool activation = k.activation < kNever && root == n.out[0];
    if (int32_t& at_now = activation ? k.activation : k.need; at_now < kNever && at_now > when) {
      const int32_t was = at_now;
      set(at_now, when);
      for (ValueId r : n.out)
        if (values_[at(r)].last >= was && (!activation || r == root)) add(when, was - 1, bytes(r));
      if (activation)
        require(n.out[1], when);
      else
        for (ValueId r : n.in)
          if (r != kNoValue) require(root_[at(r)], when);
    }
    if (v.late > when) set(v.late, when);
    if (v.last >= when) return;
    const bool is_there = v.last >= backward_ || activation || k.need < kNever;
    if (is_there || k.stays || is_small(root))
      add(std::max(v.last, v.early) + 1, when, bytes(root));
    else
      make_before(made, when);
    set(v.last, when);
  }
  // Not worth a clone: it is kept instead.
  bool is_small(ValueId root) const { return bytes(root) * 64 < kept_ / (1 + backward_); }

  void add_clone(const Make& m) {
    const Node& of = node(m.node);
    Node n = of;
    n.phase = Phase::backward;
    n.clone = true;
    n.out.clear();
    if (m.activation) {
      n.op = p.ops().find(of.attrs.text("act"));
      n.attrs = {};
      n.in = {current(of.out[1])};
      n.out = {p.new_value(Type(p.type(of.out[0])))};
      now_[at(of.out[0])] = n.out[0];
    } else {
      for (ValueId& v : n.in) v = current(v);
      for (ValueId v : of.out) {
        n.out.push_back(p.new_value(Type(p.type(v))));
        now_[at(v)] = n.out.back();
      }
    }
    rewritten_.push_back(std::move(n));
  }
  // The value that stands for v by now; for a view of what was made again, a view of its clone.
  ValueId current(ValueId v) {
    if (v == kNoValue || at(v) >= now_.size() || now_[at(v)] != v)
      return v == kNoValue ? v : now_[at(v)];
    const int32_t made = p.values[at(v)].node;
    if (root_[at(v)] == v || made >= backward_) return v;
    Node view = node(made);
    const ValueId of = current(view.in[0]);
    if (of == view.in[0]) return v;
    view.phase = Phase::backward;
    view.clone = true;
    view.in[0] = of;
    view.out = {p.new_value(Type(p.type(v)))};
    now_[at(v)] = view.out[0];
    rewritten_.push_back(std::move(view));
    return now_[at(v)];
  }

  Program& p;
  const Speeds speeds_;
  int32_t backward_ = 0;  // the first node of the backward pass
  LiveBytes live_;
  std::vector<ValueId> root_;  // by value: whose storage a view shows
  std::vector<Value> values_;
  std::vector<Knot> nodes_;
  std::vector<Undo> log_;
  double seconds_ = 0;  // of all that is made again
  int64_t kept_ = 0;
  std::vector<Node> rewritten_;
  std::vector<ValueId> now_;  // by value of the program before: what is read in its stead
};

}  // namespace

Result<bool> recompute(Program& p, const Recompute& how) {
  p.renumber_producers();
  Recomputing r(p, how.speeds);
  if (!r.has_backward()) return false;
  if (how.blocks) r.drop_blocks();
  if (how.share < 1) r.drop_share(how.share);
  if (how.bytes < std::numeric_limits<int64_t>::max()) r.drop_to(how.bytes);
  return r.rewrite();
}

double clone_seconds(const Program& p, const Speeds& speeds) {
  double sum = 0;
  for (const Node& n : p.nodes)
    if (n.clone) sum += seconds_of({p, n}, speeds);
  return sum;
}

}  // namespace hone
