// Parses a function for roll.h.
#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "engine/backends/xla/roll.h"

namespace hone::xla {
namespace {

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The names "%12", "%12#1", "%l3" of a text.
struct Name {
  size_t at, length;
};
std::vector<Name> names_of(std::string_view text) {
  std::vector<Name> names;
  for (size_t at = 0; (at = text.find('%', at)) != text.npos;) {
    size_t end = at + 1;
    while (end < text.size() && in_name(text[end])) ++end;
    if (end < text.size() && text[end] == '#') {
      ++end;
      while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    }
    names.push_back({at, end - at});
    at = end;
  }
  return names;
}

// The place of the literal of a constant with one element, and its length; the length is 0 for other statements.
std::pair<size_t, size_t> scalar_literal(std::string_view text) {
  static constexpr std::string_view kConstant = "stablehlo.constant dense<", kType = "> : tensor<";
  const size_t at = text.find(kConstant);
  if (at == text.npos || at != text.find(" = ") + 3) return {0, 0};
  const size_t begin = at + kConstant.size(), end = text.find(kType, begin);
  if (end == text.npos || text.find('x', end + kType.size()) != text.npos) return {0, 0};
  return {begin, end - begin};
}

class Parser {
 public:
  Parser(const Refs& arguments, const std::vector<StateStack>& stacks) {
    for (const Ref& a : arguments) define({.ref = a});
    for (size_t s = 0; s < stacks.size(); ++s)
      for (size_t k = 0; k < stacks[s].rows.size(); ++k)
        if (const Ref& row = stacks[s].rows[k]; !row.name.empty())
          define({.ref = row, .stack = static_cast<int32_t>(s), .row = static_cast<int32_t>(k)});
  }

  void add(Statement s) {
    Body::Parsed p;
    p.first_result = static_cast<int32_t>(body.values.size());
    p.result_count = static_cast<int32_t>(s.results.size());
    const std::string own = s.results[0].name.substr(0, s.results[0].name.find('#'));
    std::string shape;
    std::unordered_map<std::string, size_t> local;
    size_t done = 0;
    const auto [literal, length] = scalar_literal(s.text);
    // Leaves out the literal, which is between two names.
    const auto copy = [&](size_t until) {
      if (length > 0 && done <= literal && literal < until) {
        shape.append(s.text, done, literal - done);
        done = literal + length;
      }
      shape.append(s.text, done, until - done);
    };
    for (const Name& n : names_of(s.text)) {
      copy(n.at);
      done = n.at + n.length;
      const std::string name = s.text.substr(n.at, n.length);
      if (name == own) {
        shape += "%R";
      } else if (const auto known = numbers_.find(name); known != numbers_.end()) {
        shape += "%";
        p.operands.push_back({n.at, n.length, known->second});
      } else {
        const std::string base = name.substr(0, name.find('#'));
        shape += "%" + std::to_string(local.emplace(base, local.size()).first->second);
        shape.append(name, base.size());
      }
    }
    copy(s.text.size());
    p.constant = s.text.substr(literal, length);
    p.kind = static_cast<int32_t>(kinds_.emplace(std::move(shape), kinds_.size()).first->second);
    p.text = std::move(s.text);
    const auto number = static_cast<int32_t>(body.statements.size());
    for (size_t r = 0; r < s.results.size(); ++r)
      define({.ref = s.results[r], .statement = number, .result = static_cast<int32_t>(r)});
    body.statements.push_back(std::move(p));
  }

  int32_t number_of(const Ref& r) const { return numbers_.at(r.name); }
  Body body;

 private:
  void define(Body::Value v) {
    numbers_.emplace(v.ref.name, static_cast<int32_t>(body.values.size()));
    body.values.push_back(std::move(v));
  }
  std::unordered_map<std::string, int32_t> numbers_;
  std::unordered_map<std::string, size_t> kinds_;
};

Body parsed(const std::vector<Statement>& statements, const Refs& arguments, const Refs& results,
            const std::vector<StateStack>& stacks) {
  Parser parser(arguments, stacks);
  for (const Statement& s : statements) parser.add(s);
  Body b = std::move(parser.body);
  for (const Ref& r : results) b.results.push_back(parser.number_of(r));
  for (const StateStack& s : stacks) {
    b.next.emplace_back();
    for (const Ref& r : s.next)
      b.next.back().push_back(r.name.empty() ? Body::kNone : parser.number_of(r));
  }
  return b;
}

// Puts statement order[i] at place i.
void reorder(Body& b, const std::vector<size_t>& order) {
  std::vector<Body::Parsed> statements;
  std::vector<int32_t> place(order.size());
  for (const size_t from : order) {
    place[from] = static_cast<int32_t>(statements.size());
    statements.push_back(std::move(b.statements[from]));
  }
  b.statements = std::move(statements);
  for (Body::Value& v : b.values)
    if (v.statement != Body::kNone) v.statement = place[static_cast<size_t>(v.statement)];
}

// Orders the statements after the last product. A statement has numbers if one of its results has several elements.
// Statements with numbers that need each other are a computation, such as the update of one weight. A level is a set of
// computations that do not need each other; the single numbers between two levels, such as the norm of all gradients,
// follow all computations of the first one.
class Tail {
 public:
  explicit Tail(const Body& body) : b(body), count_(body.statements.size()) {
    for (begin_ = count_; begin_ > 0 && !has_product(b.statements[begin_ - 1]);) --begin_;
    single_.resize(count_);
    free_.resize(count_);
    level_.resize(count_);
    group_.resize(count_);
    readers_.resize(count_);
    returned_.resize(count_);
    for (size_t i = begin_; i < count_; ++i) note(i);
    note_results();
    for (size_t i = count_; i-- > begin_;) delay(i);
    for (size_t i = begin_; i < count_; ++i) join(i);
    join_free();
  }

  std::vector<size_t> order(std::vector<Run>& runs) {
    std::vector<size_t> all;
    for (size_t i = 0; i < begin_; ++i) all.push_back(i);
    int levels = 0;
    for (size_t i = begin_; i < count_; ++i) {
      levels = std::max(levels, level_[i] + 1);
      if (free_[i] && group_[i] == i) all.push_back(i);
    }
    for (int level = 0; level < levels; ++level) add_level(level, all, runs);
    return all;
  }

 private:
  size_t root(size_t i) {
    while (group_[i] != i) i = group_[i] = group_[group_[i]];
    return i;
  }
  bool in_tail(const Body::Operand& o) const {
    const int32_t s = b.value(o.value).statement;
    return s != Body::kNone && static_cast<size_t>(s) >= begin_;
  }
  size_t maker(const Body::Operand& o) const {
    return static_cast<size_t>(b.value(o.value).statement);
  }

  // The first level in which the statement can be computed.
  void note(size_t i) {
    const Body::Parsed& s = b.statements[i];
    group_[i] = i;
    single_[i] = true;
    for (int32_t r = 0; r < s.result_count; ++r)
      single_[i] = single_[i] && elements_of(b.value(s.first_result + r).ref) == 1;
    free_[i] = single_[i];
    for (const Body::Operand& o : s.operands) {
      if (!in_tail(o)) {
        free_[i] = free_[i] && elements_of(b.value(o.value).ref) == 1;
        continue;
      }
      const size_t from = maker(o);
      readers_[from].push_back(i);
      free_[i] = free_[i] && free_[from];
      if (!free_[from])
        level_[i] = std::max(level_[i], level_[from] + (single_[from] && !single_[i] ? 1 : 0));
    }
  }
  void note_results() {
    const auto result = [&](int32_t v) {
      if (v == Body::kNone) return;
      const int32_t s = b.value(v).statement;
      if (s != Body::kNone && static_cast<size_t>(s) >= begin_)
        returned_[static_cast<size_t>(s)] = true;
    };
    for (const int32_t v : b.results) result(v);
    for (const auto& rows : b.next)
      for (const int32_t v : rows) result(v);
  }
  // Numbers are computed in the level that needs them.
  void delay(size_t i) {
    if (single_[i] || returned_[i] || readers_[i].empty()) return;
    level_[i] =
        level_[*std::min_element(readers_[i].begin(), readers_[i].end(),
                                 [&](size_t x, size_t y) { return level_[x] < level_[y]; })];
  }
  void join(size_t i) {
    if (single_[i] && !sums_one(i)) return;
    for (const Body::Operand& o : b.statements[i].operands)
      if (in_tail(o) && !single_[maker(o)] && level_[maker(o)] == level_[i])
        group_[root(i)] = root(maker(o));
    if (single_[i]) joined_.push_back(i);
  }
  // Whether a single number is made from one computation of its level, such as a sum over a gradient.
  bool sums_one(size_t i) {
    std::optional<size_t> from;
    for (const Body::Operand& o : b.statements[i].operands) {
      if (!in_tail(o)) {
        if (elements_of(b.value(o.value).ref) > 1) from = i;
        continue;
      }
      if (free_[maker(o)]) continue;
      if (single_[maker(o)] || level_[maker(o)] != level_[i]) return false;
      const size_t group = root(maker(o));
      if (from && *from != group) return false;
      from = group;
    }
    if (!from) return false;
    free_[i] = false;
    return true;
  }
  // A single number that needs no computation, such as a constant, belongs to the computation that alone reads it.
  void join_free() {
    std::sort(joined_.begin(), joined_.end());
    for (size_t i = count_; i-- > begin_;) {
      if (!free_[i] || returned_[i] || readers_[i].empty()) continue;
      const auto belongs = [&](size_t r) {
        return free_[r] ? group_[r] != r
                        : std::binary_search(joined_.begin(), joined_.end(), r) || !single_[r];
      };
      const size_t group = root(readers_[i][0]);
      if (std::all_of(readers_[i].begin(), readers_[i].end(),
                      [&](size_t r) { return belongs(r) && root(r) == group; })) {
        group_[i] = group;
        level_[i] = level_[group];
      }
    }
  }

  void add_level(int level, std::vector<size_t>& all, std::vector<Run>& runs) {
    std::map<size_t, std::vector<size_t>> computations;  // by root
    std::vector<size_t> numbers;
    for (size_t i = begin_; i < count_; ++i) {
      if (level_[i] != level || (free_[i] && group_[i] == i)) continue;
      const bool alone =
          single_[i] && !free_[i] && !std::binary_search(joined_.begin(), joined_.end(), i);
      alone ? numbers.push_back(i) : computations[root(i)].push_back(i);
    }
    std::vector<std::vector<size_t>> in_order;
    for (auto& [root, statements] : computations) in_order.push_back(std::move(statements));
    std::sort(in_order.begin(), in_order.end());
    std::map<std::vector<int32_t>, std::vector<size_t>> equal;  // by kinds and stacks
    std::vector<const std::vector<size_t>*> groups;
    for (size_t c = 0; c < in_order.size(); ++c) {
      std::vector<int32_t> key;
      for (const size_t i : in_order[c]) {
        key.push_back(b.statements[i].kind);
        for (const Body::Operand& o : b.statements[i].operands)
          key.push_back(b.value(o.value).stack);
      }
      std::vector<size_t>& same = equal[std::move(key)];
      if (same.empty()) groups.push_back(&same);
      same.push_back(c);
    }
    for (const std::vector<size_t>* group : groups) {
      Run run{all.size(), 0, in_order[group->front()].size(), true};
      for (const size_t c : *group) all.insert(all.end(), in_order[c].begin(), in_order[c].end());
      run.end = all.size();
      if (group->size() > 1) runs.push_back(run);
    }
    all.insert(all.end(), numbers.begin(), numbers.end());
  }

  const Body& b;
  size_t count_, begin_ = 0;
  std::vector<bool> single_, free_, returned_;
  std::vector<std::vector<size_t>> readers_;
  std::vector<int> level_;
  std::vector<size_t> group_;   // by statement: towards the first one of its computation
  std::vector<size_t> joined_;  // statements with a single number that belong to computations
};

}  // namespace

int64_t elements_of(const Ref& r) {
  int64_t n = 1;
  for (const int64_t d : r.shape) n *= d;
  return n;
}

bool has_product(const Body::Parsed& s) {
  return s.text.find("stablehlo.dot_general") != s.text.npos ||
         s.text.find("stablehlo.convolution") != s.text.npos;
}

Body parse_body(const std::vector<Statement>& statements, const Refs& arguments,
                const Refs& results, const std::vector<StateStack>& stacks,
                std::vector<Run>& runs) {
  Body body = parsed(statements, arguments, results, stacks);
  reorder(body, Tail(body).order(runs));
  return body;
}

}  // namespace hone::xla
