#include "engine/graph/fingerprint.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <tuple>
#include <unordered_map>

#include "engine/graph/op.h"

namespace hone {
namespace {

// Takes in numbers and texts one after another; their order counts.
class Hash {
 public:
  void add(uint64_t x) {  // splitmix64's finalizer
    state_ += x + 0x9e3779b97f4a7c15u;
    state_ = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9u;
    state_ = (state_ ^ (state_ >> 27)) * 0x94d049bb133111ebu;
    state_ ^= state_ >> 31;
  }
  void add(std::string_view text) { add(uint64_t{std::hash<std::string_view>()(text)}); }
  void add(const Shape& list) {
    add(list.size());
    for (int64_t x : list) add(static_cast<uint64_t>(x));
  }
  void add(ValueId v) { add(static_cast<uint64_t>(static_cast<int64_t>(v))); }
  void add(const Type& t) {
    add(static_cast<uint64_t>(t.dtype));
    add(t.shape);
  }
  void add(const Attrs& attrs) {
    add(attrs.all().size());
    for (const auto& [name, value] : attrs.all()) {
      add(name);
      add(uint64_t{value.index()});
      std::visit([this](const auto& x) { add_value(x); }, value);
    }
  }
  uint64_t value() const { return state_; }

 private:
  void add_value(bool b) { add(uint64_t{b}); }
  void add_value(int64_t i) { add(static_cast<uint64_t>(i)); }
  void add_value(double d) { add(std::bit_cast<uint64_t>(d)); }
  void add_value(const std::string& s) { add(std::string_view(s)); }
  void add_value(const std::vector<int64_t>& list) { add(list); }

  uint64_t state_ = 0;
};

bool same_bits(const Attr& a, const Attr& b) {
  const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b);
  return x && y ? std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(*y) : a == b;
}

}  // namespace

bool computes_the_same(const Node& a, const Node& b) {
  if (a.op != b.op || a.in != b.in || a.out.size() != b.out.size()) return false;
  return std::equal(a.attrs.all().begin(), a.attrs.all().end(), b.attrs.all().begin(),
                    b.attrs.all().end(), [](const auto& x, const auto& y) {
                      return x.first == y.first && same_bits(x.second, y.second);
                    });
}

uint64_t hash_of(const Node& n) {
  Hash h;
  h.add(n.op->name);
  h.add(n.in.size());
  for (ValueId v : n.in) h.add(v);
  h.add(n.attrs);
  return h.value();
}

uint64_t fingerprint(const Program& p) {
  Hash h;
  h.add(p.name);
  for (const Named& n : p.inputs) {
    h.add(n.name);
    h.add(n.value);
    h.add(p.type(n.value));
  }
  for (const State& s : p.states) {
    h.add(s.name);
    h.add(s.value);
    h.add(s.next);
    h.add(p.type(s.value));
    h.add(static_cast<uint64_t>(s.role) * 2 + s.trainable);
    h.add(static_cast<uint64_t>(s.home));
    h.add(s.shard.tensor);
    h.add(static_cast<uint64_t>(s.shard.begin));
    h.add(static_cast<uint64_t>(s.shard.rows));
    if (s.shard.held.count() > 0) {
      h.add(static_cast<uint64_t>(s.shard.held.begin));
      h.add(static_cast<uint64_t>(s.shard.held.end));
    }
  }
  for (const Node& n : p.nodes) {
    h.add(hash_of(n));
    h.add(n.scope);
    h.add(static_cast<uint64_t>(n.phase) * 2 + n.clone);
    h.add(static_cast<uint64_t>(n.lane));
    for (ValueId v : n.out) {
      h.add(v);
      h.add(p.type(v));
    }
  }
  for (const Named& n : p.outputs) {
    h.add(n.name);
    h.add(n.value);
  }
  return h.value();
}

uint64_t numeric_fingerprint(const Program& p) {
  std::vector<uint64_t> number(p.values.size(), 0);
  auto number_of = [&](ValueId v) { return v == kNoValue ? 0 : number[static_cast<size_t>(v)]; };
  auto outside = [&](std::string_view kind, const std::string& name, ValueId v) {
    Hash h;
    h.add(kind);
    h.add(name);
    h.add(p.type(v));
    number[static_cast<size_t>(v)] = h.value();
  };
  const auto result = [](std::string_view op, const Attrs& attrs,
                         std::span<const uint64_t> operands, size_t k) {
    Hash h;
    h.add(op);
    h.add(attrs);
    h.add(operands.size());
    for (const uint64_t x : operands) h.add(x);
    h.add(uint64_t{k});
    return h.value();
  };
  for (const Named& n : p.inputs) outside("input", n.name, n.value);
  std::unordered_map<uint64_t, uint64_t>
      whole_of;  // number of a rank's rows of a weight -> the weight's
  for (const State& s : p.states) {
    if (s.shard.whole() || s.shard.held.count() == 0 || s.role != Role::param) {
      outside("state", s.name, s.value);
      continue;
    }
    Type type = p.type(s.value);
    type.shape[0] = s.shard.rows;
    Hash h;
    h.add("state");
    h.add(s.shard.tensor);
    h.add(type);
    const uint64_t whole = h.value();
    const Attrs rows{{"axis", 0}, {"begin", s.shard.held.begin}, {"end", s.shard.held.end}};
    whole_of[number[static_cast<size_t>(s.value)] = result("slice", rows, {&whole, 1}, 0)] = whole;
  }
  std::vector<uint64_t> operands;
  for (const Node& n : p.nodes) {
    const NodeView view{p, n};
    operands.clear();
    for (ValueId v : n.in) operands.push_back(number_of(v));
    auto made = [&](size_t k) -> uint64_t& { return number[static_cast<size_t>(n.out[k])]; };
    if (keeps_what_it_activates(n)) {  // as two nodes
      Attrs product = n.attrs;
      product.erase("act");
      product.erase("save_pre");
      made(1) = result(n.op->name, product, operands, 0);
      made(0) = result(n.attrs.text("act"), {}, {&made(1), 1}, 0);
      continue;
    }
    if (n.op->gathers) {
      for (size_t k = 0; k < n.out.size(); ++k) {
        const auto whole = whole_of.find(operands[k]);
        made(k) = whole == whole_of.end() ? operands[k] : whole->second;
      }
      continue;
    }
    for (size_t k = 0; k < n.out.size(); ++k) made(k) = result(n.op->name, n.attrs, operands, k);
    if (n.op->copies ||
        (n.op->view_offset && n.op->view_offset(view) == 0 && view.in(0) == view.out(0)))
      made(0) = number_of(n.in[0]);
  }
  std::vector<std::tuple<int, std::string_view, uint64_t>> results;
  results.reserve(p.outputs.size() + p.states.size());
  for (const Named& n : p.outputs) results.emplace_back(0, n.name, number_of(n.value));
  for (const State& s : p.states)
    if (s.next != kNoValue)
      results.emplace_back(1, s.role == Role::param && !s.shard.whole() ? s.shard.tensor : s.name,
                           number_of(s.next));
  std::sort(results.begin(), results.end());
  Hash h;
  for (const auto& [kind, name, result] : results) {
    h.add(static_cast<uint64_t>(kind));
    h.add(name);
    h.add(result);
  }
  return h.value();
}

}  // namespace hone
