// One arena for all programs of a run: states shared, views in place, inputs and outputs by name.
#include "engine/session/session.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/core/json.h"
#include "engine/backends/null/null.h"
#include "engine/backends/reference/reference.h"
#include "engine/graph/text.h"
#include "engine/ops/ops.h"
#include "engine/session/errors.h"
#include "engine/session/profile.h"

namespace hone {
namespace {

Program parsed(const std::string& text) {
  Result<Program> p = parse_program(text, op_table());
  if (!p) throw std::runtime_error(p.error().text());
  return std::move(*p);
}

// add: w += x.  read: y = -w, z = the second half of w.
std::vector<Program> programs() {
  std::vector<Program> all;
  all.push_back(parsed(R"(program add
input "x" %0 : f32[32]
state "w" %1 : f32[32] {role="param"}
  %2 : f32[32] = add(%1, %0)
next %1 = %2
)"));
  all.push_back(parsed(R"(program read
state "v" %0 : f32[3] {role="moment"}
state "w" %1 : f32[32] {role="param"}
  %2 : f32[32] = neg(%1)
  %3 : f32[16] = slice(%1) {axis=0, begin=16, end=32}
  %4 : f32[16] = exp(%3)
output "y" = %2
output "z" = %4
)"));
  return all;
}

// A kernel before 5.14 does not know the advice: pages are touched. Any other refusal is an error.
TEST(Arena, OnlyAnUnknownAdviceIsReplacedByTouching) {
  const auto unknown = [](void*, size_t) { return errno = EINVAL, -1; };
  const auto refused = [](void*, size_t) { return errno = ENOMEM, -1; };
  const Result<Arena> touched = Arena::allocate(1 << 20, unknown);
  ASSERT_TRUE(touched.ok());
  EXPECT_EQ(touched->data()[(1 << 20) - 1], std::byte{0});
  const Result<Arena> none = Arena::allocate(1 << 20, refused);
  ASSERT_FALSE(none.ok());
  EXPECT_STREQ(none.error().code(), "H1321");
}

// The workspaces of a backend are made for its threads.
TEST(Session, ABackendAndAPoolOfAnotherSizeCannotMeet) {
  class OfTwo : public Backend {
    std::string_view name() const override { return "two"; }
    Result<Kernel> kernel(const NodeView& n) const override {
      return reference_backend().kernel(n);
    }
    int threads() const override { return 2; }
  };
  ThreadPool one(1), two(2);
  EXPECT_THROW((void)Session::compile(programs(), OfTwo(), one), Bug);
  EXPECT_TRUE(Session::compile(programs(), OfTwo(), two).ok());
}

TEST(Session, ProgramsShareTheirStates) {
  ThreadPool pool(1);
  Session s = std::move(Session::compile(programs(), reference_backend(), pool).value());
  ASSERT_TRUE(s.allocate().ok());
  ASSERT_TRUE(s.has_state("w"));
  EXPECT_FALSE(s.has_state("x"));
  const size_t add = s.program_index("add"), read = s.program_index("read");
  for (int round = 1; round <= 3; ++round) {
    auto x = s.input<float>(add, "x");
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    s.run(add);
    s.run(read);
    auto y = s.output<float>(read, "y");
    for (size_t i = 0; i < y.size(); ++i)
      EXPECT_EQ(y[i], -static_cast<float>(round) * static_cast<float>(i));
  }
  EXPECT_EQ(s.output<float>(read, "z").size(), 16u);
}

TEST(Session, StatesBeginAsZerosInAnAlignedArenaOfThePlansSize) {
  ThreadPool pool(1);
  Session s = std::move(Session::compile(programs(), reference_backend(), pool).value());
  EXPECT_FALSE(s.allocated());
  ASSERT_TRUE(s.allocate().ok());
  EXPECT_EQ(s.arena().bytes(), s.plan().arena_bytes());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(s.arena().data()) % static_cast<uintptr_t>(kArenaAlignment),
            0u);
  for (std::byte b : s.state("w")) EXPECT_EQ(b, std::byte{0});
  EXPECT_EQ(s.state("v").size(), 12u);
}

TEST(Session, AProfileHasEveryNodeAndItsTraceIsJson) {
  ThreadPool pool(2);
  Session s = std::move(Session::compile(programs(), reference_backend(), pool).value());
  ASSERT_TRUE(s.allocate().ok());
  Profile profile;
  s.profile_into(&profile);
  s.run(0);
  s.run(1);
  s.profile_into(nullptr);
  s.run(0);
  ASSERT_EQ(profile.nodes.size(), s.programs()[0].nodes.size() + s.programs()[1].nodes.size());
  double seconds = 0;
  int64_t runs = 0;
  for (const OpTime& t : times_by_op(s, profile)) {
    EXPECT_GE(t.busy, 0);
    EXPECT_LE(t.busy, 1);
    seconds += t.seconds;
    runs += t.runs;
  }
  EXPECT_GT(seconds, 0);
  EXPECT_EQ(runs, static_cast<int64_t>(profile.nodes.size()));
  const nlohmann::json trace = nlohmann::json::parse(chrome_trace(s, profile));
  size_t slices = 0;
  for (const auto& e : trace.at("traceEvents"))
    slices += e.at("ph") == "X" && e.at("tid") == 0 && e.at("name") != "wait";
  EXPECT_EQ(slices, profile.nodes.size());
  const std::string table = profile_table(s, profile, {1e9, 1e9}, 1);
  EXPECT_NE(table.find("exp"), std::string::npos) << table;
}

TEST(Session, TheNullBackendPlansTheSame) {
  ThreadPool pool(1);
  NullBackend null(&reference_backend());
  Session planned = std::move(Session::compile(programs(), null, pool).value());
  Session real = std::move(Session::compile(programs(), reference_backend(), pool).value());
  EXPECT_EQ(planned.plan().arena_bytes(), real.plan().arena_bytes());
  EXPECT_EQ(planned.plan().program_bytes, real.plan().program_bytes);
  EXPECT_THROW((void)planned.allocate(), Bug);
}

TEST(Session, UnknownNamesAreBugs) {
  ThreadPool pool(1);
  Session s = std::move(Session::compile(programs(), reference_backend(), pool).value());
  EXPECT_THROW((void)s.program_index("write"), Bug);
  EXPECT_THROW((void)s.state_slot("u"), Bug);
  EXPECT_THROW(s.run(0), Bug) << "before allocate()";
}

TEST(Arena, MoreThanTheSystemGives) {
  Result<Arena> a = Arena::allocate(int64_t{1} << 60);
  ASSERT_FALSE(a.ok());
  EXPECT_STREQ(a.error().code(), err::kNoMemory.id);
  EXPECT_TRUE(a.error().remedy().empty()) << "the caller knows what could be smaller";
}

TEST(Arena, MovesWithoutCopying) {
  Arena a = std::move(Arena::allocate(1000).value());
  std::byte* data = a.data();
  data[999] = std::byte{7};
  Arena b = std::move(a);
  EXPECT_EQ(b.data(), data);
  EXPECT_EQ(b.bytes(), 1000);
  EXPECT_EQ(a.data(), nullptr);  // NOLINT: what a moved-from arena is, is promised
}

TEST(NotFinite, NamesBlockAndPhase) {
  NotFinite n{.op = "attention", .scope = "decoder.block.3.self_attention"};
  n.count = 12;
  n.elements = 40;
  EXPECT_EQ(n.text(), "decoder, block 3, self_attention: attention: 12 of 40 values");
  n.scope = "h.11.attn";
  n.phase = Phase::backward;
  EXPECT_EQ(n.text(), "gradient of block 11, attn: attention: 12 of 40 values");
}

}  // namespace
}  // namespace hone
