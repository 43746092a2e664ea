// Random programs against a memory of cells: each cell remembers whose element was written there
// last. A plan that lets two live values overlap shows as an operand that is not what was computed.
#include "engine/plan/plan.h"

#include <gtest/gtest.h>

#include <random>

#include "base/core/whole_test.h"
#include "engine/graph/text.h"
#include "engine/graph/verify.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

// A program of `nodes` ops on vectors: element-wise ones that may write over an operand, views,
// slices of views, joined vectors, and a new version for each of its states at the end. copies:
// some states are on the host or on disk, and values come and go.
std::string random_program(std::mt19937_64& rng, int nodes, bool copies) {
  auto pick = [&](size_t low, size_t high) {
    return std::uniform_int_distribution<size_t>(low, high)(rng);
  };
  std::string text;
  std::vector<int64_t> size;  // by value
  std::vector<Space> space;
  std::vector<bool> done;  // a copy's result is not until its wait
  auto value = [&](int64_t n, Space where = Space::device) {
    size.push_back(n);
    space.push_back(where);
    done.push_back(true);
    return size.size() - 1;
  };
  auto away = [&] { return pick(0, 1) == 0 ? Space::host : Space::disk; };
  auto here = [&](size_t v) {  // a value like it that kernels may read
    while (space[v] != Space::device || !done[v]) --v;
    return v;
  };
  std::vector<size_t> under_way;  // copies that nothing waits for yet
  for (size_t i = 0; i < pick(1, 3); ++i) {
    const size_t v = value(static_cast<int64_t>(8 * pick(1, 40)));
    text += fmt::format("input \"x{}\" %{} : f32[{}]\n", v, v, size[v]);
  }
  std::vector<size_t> states;
  for (size_t i = 0; i < pick(0, 4); ++i) {
    const Space home = copies && pick(0, 1) == 0 ? away() : Space::device;
    states.push_back(value(static_cast<int64_t>(8 * pick(1, 40)), home));
    text += fmt::format("state \"s{0}\" %{0} : f32[{1}] {{role=\"param\", home=\"{2}\"}}\n",
                        states.back(), size[states.back()], name_of(home));
  }
  auto emit = [&](int64_t n, const std::string& op, Space where = Space::device) {
    const size_t v = value(n, where);
    text += fmt::format("  %{} : f32[{}] = {}\n", v, n, op);
    return v;
  };
  auto copy = [&](size_t v, Space to) {
    const size_t c = emit(size[v],
                          fmt::format("copy(%{}) {{to=\"{}\"}} lane {}", v, name_of(to),
                                      name_of(lane_between(space[v], to))),
                          to);
    done[c] = false;
    return c;
  };
  auto wait = [&](size_t c) { return emit(size[c], fmt::format("wait(%{})", c), space[c]); };
  auto wait_for_one = [&] {
    const size_t k = pick(0, under_way.size() - 1);
    wait(under_way[k]);
    under_way.erase(under_way.begin() + static_cast<long>(k));
  };
  for (int k = 0; k < nodes; ++k) {
    if (copies && pick(0, 3) == 0) {
      const size_t v = pick(0, size.size() - 1);
      if (done[v]) under_way.push_back(copy(v, space[v] == Space::device ? away() : Space::device));
    }
    if (!under_way.empty() && pick(0, 3) == 0) wait_for_one();
    // Mostly recent values, so that lifetimes end.
    const size_t a =
        here(pick(0, 3) == 0 ? pick(0, size.size() - 1)
                             : size.size() - 1 - pick(0, std::min<size_t>(5, size.size() - 1)));
    size_t b = a;
    for (size_t tries = 0; tries < 8 && (b == a || size[b] != size[a]); ++tries)
      b = here(pick(0, size.size() - 1));
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
  const size_t end = size.size() - 1, last = here(end),
               other = here(pick(end - static_cast<size_t>(nodes) + 1, end));
  while (!under_way.empty()) wait_for_one();  // the old versions are read no more
  std::vector<size_t> next;
  for (size_t s : states) {
    const bool at_home = space[s] == Space::device;
    const size_t fresh =
        emit(size[s], fmt::format("neg(%{})", at_home ? s : wait(copy(s, Space::device))));
    next.push_back(at_home ? fresh : copy(fresh, space[s]));
  }
  for (size_t& v : next)
    if (space[v] != Space::device) v = wait(v);
  text += fmt::format("output \"y\" = %{}\noutput \"z\" = %{}\n", last, other);
  for (size_t i = 0; i < states.size(); ++i)
    text += fmt::format("next %{} = %{}\n", states[i], next[i]);
  return text;
}

class Cells {
 public:
  Cells(const Program& p, const RunPlan& plan)
      : p_(p), plan_(plan.programs[0]), expected_(p.values.size()) {
    for (const Space s : kSpaces) cells_[s].assign(static_cast<size_t>(plan.arena_bytes(s) / 4), 0);
  }

  void run(const std::vector<int64_t>& workspace_bytes) {
    for (const Named& n : p_.inputs) write_new(n.value);
    for (const State& s : p_.states) write_new(s.value);
    for (size_t i = 0; i < p_.nodes.size(); ++i) {
      const Node& n = p_.nodes[i];
      const auto scratch = static_cast<size_t>(plan_.workspace_offset[i] / 4);
      for (int64_t k = 0; k < workspace_bytes[i] / 4; ++k)
        cells_[Space::device][scratch + static_cast<size_t>(k)] = --junk_;
      if (n.op->waits) {  // only now its bytes are read and written
        const ValueId copy = n.in[0], from = copied(copy);
        expect_there(from, "copied");
        expect_there(copy, "copied to");
        write(n.out[0], expected_[static_cast<size_t>(from)]);
        continue;
      }
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

  ValueId copied(ValueId v) const {
    return p_.nodes[static_cast<size_t>(p_.values[static_cast<size_t>(v)].node)].in[0];
  }
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
    Tags& cells = cells_[p_.space(v)];
    ASSERT_LE(at(v) + tags.size(), cells.size());
    std::copy(tags.begin(), tags.end(), cells.begin() + static_cast<long>(at(v)));
    expected_[static_cast<size_t>(v)] = std::move(tags);
  }
  void expect_there(ValueId v, const std::string& why) {
    const Tags& tags = expected_[static_cast<size_t>(v)];
    const Tags& cells = cells_[p_.space(v)];
    EXPECT_TRUE(std::equal(tags.begin(), tags.end(), cells.begin() + static_cast<long>(at(v))))
        << "%" << v << " was written over before it was " << why;
  }
  // A kernel may write while it reads: an operand's place only where the op allows it.
  void expect_apart(const Node& n, size_t k) {
    if (is_view(n)) return;
    const OperandList allowed = inplace_inputs({p_, n}, k);
    for (size_t i = 0; i < n.in.size(); ++i) {
      if (p_.space(n.in[i]) != p_.space(n.out[k])) continue;
      const size_t from = at(n.in[i]), to = at(n.out[k]);
      const bool apart = from + count(n.in[i]) <= to || to + count(n.out[k]) <= from;
      const bool in_place = from == to && std::count(allowed.begin(), allowed.end(), i) > 0;
      EXPECT_TRUE(apart || in_place) << n.op->name << ": result " << k << " lies in operand " << i;
    }
  }

  const Program& p_;
  const ProgramPlan& plan_;
  PerSpace<Tags> cells_;
  std::vector<Tags> expected_;
  int64_t fresh_ = 0, junk_ = 0;
};

void expect_values_are_kept(bool copies, double fragmentation) {
  std::mt19937_64 rng(1);
  int64_t elsewhere = 0;
  for (int round = 0; round < rounds(400); ++round) {
    const std::string text = random_program(rng, 5 + round % 60, copies);
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
    Cells(*p, *plan).run(scratch);
    EXPECT_LE(plan->programs[0].fragmentation(), fragmentation);
    elsewhere += plan->programs[0].transient_bytes[Space::host] +
                 plan->programs[0].transient_bytes[Space::disk];
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_EQ(elsewhere > 0, copies);
}

// Within one huge page, where a smaller region saves nothing, the search is short. That larger
// plans stay within 2 % is a test of models (learn/tasks/memory_test.cc).
TEST(Plan, RandomProgramsKeepEveryValueUntilItsLastUse) { expect_values_are_kept(false, 0.05); }
TEST(Plan, CopiesKeepWhatTheyReadAndWriteUntilTheirWait) { expect_values_are_kept(true, 0.1); }

// The most bytes alive at a node of the program with these fused nodes.
int64_t live_bytes(const std::string& text, std::vector<bool> fused) {
  const Program p = parse_program(text, op_table()).value();
  const std::vector<PlanInput> inputs{{.program = &p, .fused = std::move(fused)}};
  return plan_run(inputs).value().programs[0].live_bytes;
}

TEST(Plan, ResultsOfFusedNodesTakeNoBytes) {
  const char* text = R"(
input "x" %0 : f32[]
  %1 : f32[1024] = broadcast(%0) {shape=[1024], axes=[]}
  %2 : f32[1024] = broadcast(%0) {shape=[1024], axes=[]}
  %3 : f32[1024] = mul(%1, %2)
  %4 : f32[] = reduce_sum(%3) {axes=[0]}
output "y" = %4
)";
  EXPECT_GE(live_bytes(text, {}), 2 * 4096);
  EXPECT_LT(live_bytes(text, {false, true}), 2 * 4096);
  EXPECT_GE(live_bytes(text, {false, true}), 4096);
  EXPECT_LT(live_bytes(text, {true, true, true}), 4096);
}

TEST(Plan, OperandsOfFusedNodesLiveUntilTheReaders) {
  const char* text = R"(
input "x" %0 : f32[1024]
  %1 : f32[1024] = neg(%0)
  %2 : bf16[1024] = cast(%1) {dtype="bf16"}
  %3 : f32[1024] = neg(%0)
  %4 : bf16[1024] = cast(%3) {dtype="bf16"}
  %5 : bf16[2048] = concat(%2, %4) {axis=0}
output "y" = %5
)";
  EXPECT_EQ(live_bytes(text, {false, true}) - live_bytes(text, {}), 2048);
}

}  // namespace
}  // namespace hone
