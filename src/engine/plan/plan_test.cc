// Random programs against a memory of cells: each cell remembers whose element was written there
// last. A plan that lets two live values overlap shows as an operand that is not what was computed.
#include "engine/plan/plan.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/graph/text.h"
#include "engine/graph/verify.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

// A program of `nodes` ops on vectors: element-wise ones that may write over an operand, views,
// slices of views, joined vectors, and a new version for each of its states at the end.
std::string random_program(std::mt19937_64& rng, int nodes) {
  auto pick = [&](size_t low, size_t high) {
    return std::uniform_int_distribution<size_t>(low, high)(rng);
  };
  std::string text;
  std::vector<int64_t> size;  // by value
  auto value = [&](int64_t n) {
    size.push_back(n);
    return size.size() - 1;
  };
  for (size_t i = 0; i < pick(1, 3); ++i) {
    const size_t v = value(static_cast<int64_t>(8 * pick(1, 40)));
    text += fmt::format("input \"x{}\" %{} : f32[{}]\n", v, v, size[v]);
  }
  std::vector<size_t> states;
  for (size_t i = 0; i < pick(0, 4); ++i) {
    states.push_back(value(static_cast<int64_t>(8 * pick(1, 40))));
    text += fmt::format("state \"s{0}\" %{0} : f32[{1}] {{role=\"param\"}}\n", states.back(),
                        size[states.back()]);
  }
  auto emit = [&](int64_t n, const std::string& op) {
    const size_t v = value(n);
    text += fmt::format("  %{} : f32[{}] = {}\n", v, n, op);
    return v;
  };
  for (int k = 0; k < nodes; ++k) {
    // Mostly what was made lately, so that lifetimes end.
    const size_t a = pick(0, 3) == 0
                         ? pick(0, size.size() - 1)
                         : size.size() - 1 - pick(0, std::min<size_t>(5, size.size() - 1));
    size_t b = a;
    for (size_t tries = 0; tries < 8 && (b == a || size[b] != size[a]); ++tries)
      b = pick(0, size.size() - 1);
    const int64_t n = size[a];
    switch (pick(0, 5)) {
      case 0:
        emit(n, fmt::format("exp(%{})", a));
        break;
      case 1:
        emit(n, fmt::format("reshape(%{}) {{shape=[{}]}}", a, n));
        break;
      case 2: {
        const auto begin = static_cast<int64_t>(pick(0, static_cast<size_t>(n - 1)));
        const auto end = begin + static_cast<int64_t>(pick(1, static_cast<size_t>(n - begin)));
        emit(end - begin, fmt::format("slice(%{}) {{axis=0, begin={}, end={}}}", a, begin, end));
        break;
      }
      case 3:
        emit(n + size[b], fmt::format("concat(%{}, %{}) {{axis=0}}", a, b));
        break;
      default:
        if (size[b] == n)
          emit(n, fmt::format("add(%{}, %{})", a, b));
        else
          emit(n, fmt::format("neg(%{})", a));
    }
  }
  const size_t last = size.size() - 1, other = pick(last - static_cast<size_t>(nodes) + 1, last);
  std::vector<size_t> next;
  for (size_t s : states) next.push_back(emit(size[s], fmt::format("neg(%{})", s)));
  text += fmt::format("output \"y\" = %{}\noutput \"z\" = %{}\n", last, other);
  for (size_t i = 0; i < states.size(); ++i)
    text += fmt::format("next %{} = %{}\n", states[i], next[i]);
  return text;
}

class Cells {
 public:
  Cells(const Program& p, const ProgramPlan& plan, int64_t bytes)
      : p_(p), plan_(plan), cells_(static_cast<size_t>(bytes / 4), 0), expected_(p.values.size()) {}

  void run(const std::vector<int64_t>& workspace_bytes) {
    for (const Named& n : p_.inputs) write_new(n.value);
    for (const State& s : p_.states) write_new(s.value);
    for (size_t i = 0; i < p_.nodes.size(); ++i) {
      const Node& n = p_.nodes[i];
      const auto scratch = static_cast<size_t>(plan_.workspace_offset[i] / 4);
      for (int64_t k = 0; k < workspace_bytes[i] / 4; ++k)
        cells_[scratch + static_cast<size_t>(k)] = --junk_;
      for (ValueId v : n.in) expect_there(v, fmt::format("read by node {} ({})", i, n.op->name));
      for (size_t k = 0; k < n.out.size(); ++k) expect_apart(n, k);
      if (is_view(n)) {
        const auto from = static_cast<size_t>(n.op->view_offset({p_, n}) / 4);
        const auto& whole = expected_[static_cast<size_t>(n.in[0])];
        const auto count = static_cast<size_t>(p_.type(n.out[0]).count());
        write(n.out[0], {whole.begin() + static_cast<long>(from),
                         whole.begin() + static_cast<long>(from + count)});
      } else {
        for (ValueId v : n.out) write_new(v);
      }
    }
    for (const Named& n : p_.outputs) expect_there(n.value, "an output");
    for (const State& s : p_.states) {
      if (s.next == kNoValue) continue;
      expect_there(s.next, "a state's new version");
      EXPECT_EQ(plan_.offset[static_cast<size_t>(s.next)],
                plan_.offset[static_cast<size_t>(s.value)]);
    }
  }

 private:
  using Tags = std::vector<int64_t>;

  bool is_view(const Node& n) const { return n.op->view_offset && n.op->view_offset({p_, n}) >= 0; }

  size_t at(ValueId v) const {
    return static_cast<size_t>(plan_.offset[static_cast<size_t>(v)] / 4);
  }
  size_t count(ValueId v) const { return static_cast<size_t>(p_.type(v).count()); }

  void write_new(ValueId v) {
    Tags tags(count(v));
    for (int64_t& t : tags) t = ++fresh_;
    write(v, std::move(tags));
  }
  void write(ValueId v, Tags tags) {
    ASSERT_LE(at(v) + tags.size(), cells_.size());
    std::copy(tags.begin(), tags.end(), cells_.begin() + static_cast<long>(at(v)));
    expected_[static_cast<size_t>(v)] = std::move(tags);
  }
  void expect_there(ValueId v, const std::string& why) {
    const Tags& tags = expected_[static_cast<size_t>(v)];
    EXPECT_TRUE(std::equal(tags.begin(), tags.end(), cells_.begin() + static_cast<long>(at(v))))
        << "%" << v << " was written over before it was " << why;
  }
  // A kernel may write while it reads: an operand's place only where the op allows it.
  void expect_apart(const Node& n, size_t k) {
    if (is_view(n)) return;
    const std::vector<size_t> allowed = inplace_inputs({p_, n}, k);
    for (size_t i = 0; i < n.in.size(); ++i) {
      const size_t from = at(n.in[i]), to = at(n.out[k]);
      const bool apart = from + count(n.in[i]) <= to || to + count(n.out[k]) <= from;
      const bool in_place = from == to && std::count(allowed.begin(), allowed.end(), i) > 0;
      EXPECT_TRUE(apart || in_place) << n.op->name << ": result " << k << " lies in operand " << i;
    }
  }

  const Program& p_;
  const ProgramPlan& plan_;
  Tags cells_;
  std::vector<Tags> expected_;
  int64_t fresh_ = 0, junk_ = 0;
};

TEST(Plan, RandomProgramsKeepEveryValueUntilItsLastUse) {
  std::mt19937_64 rng(1);
  constexpr int kPrograms = 400;
  for (int round = 0; round < kPrograms; ++round) {
    const std::string text = random_program(rng, 5 + round % 60);
    SCOPED_TRACE(text);
    Result<Program> p = parse_program(text, op_table());
    ASSERT_TRUE(p.ok()) << p.error().text();
    const Status valid = verify(*p);
    ASSERT_TRUE(valid.ok()) << valid.error().text();
    std::vector<int64_t> scratch(p->nodes.size());
    for (int64_t& bytes : scratch) bytes = rng() % 3 == 0 ? static_cast<int64_t>(rng() % 4000) : 0;
    const std::vector<PlanInput> inputs{{&*p, scratch}};
    Result<RunPlan> plan = plan_run(inputs);
    ASSERT_TRUE(plan.ok()) << plan.error().text();
    Cells(*p, plan->programs[0], plan->arena_bytes()).run(scratch);
    EXPECT_LE(plan->programs[0].fragmentation(), 0.02);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace hone
