// One arena for all programs of a run: states shared, views in place, inputs and outputs by name.
#include "engine/session/session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cmath>
#include <limits>
#include <thread>

#include "base/core/json.h"
#include "engine/backends/cpu/backend.h"
#include "engine/backends/far/far.h"
#include "engine/backends/null/null.h"
#include "engine/backends/reference/reference.h"
#include "engine/device/arena.h"
#include "engine/device/errors.h"
#include "engine/graph/text.h"
#include "engine/ops/ops.h"
#include "engine/session/profile.h"
#include "engine/session/xplane.h"

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

// Several threads populate parts of it: each byte once, and one refusal is enough.
TEST(Arena, LargeOnesArePopulatedInParts) {
  constexpr int64_t kBytes = (int64_t{1} << 30) + 12345;
  static std::atomic<int64_t> populated;
  const auto count = [](void*, size_t bytes) {
    populated += static_cast<int64_t>(bytes);
    return 0;
  };
  ASSERT_TRUE(Arena::allocate(kBytes, count).ok());
  EXPECT_EQ(populated, kBytes);
  static std::atomic<int> calls;
  const auto one_refused = [](void*, size_t) { return calls++ == 0 ? (errno = ENOMEM, -1) : 0; };
  const Result<Arena> none = Arena::allocate(kBytes, one_refused);
  ASSERT_FALSE(none.ok());
  EXPECT_STREQ(none.error().code(), "H1321");
}

TEST(Session, ProgramsShareTheirStates) {
  Session s = std::move(Session::compile(programs(), reference_backend()).value());
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
  Session s = std::move(Session::compile(programs(), reference_backend()).value());
  EXPECT_FALSE(s.allocated());
  ASSERT_TRUE(s.allocate().ok());
  EXPECT_EQ(s.arena()->bytes(), s.plan().arena_bytes());
  EXPECT_EQ(
      reinterpret_cast<uintptr_t>(s.arena()->data()) % static_cast<uintptr_t>(kArenaAlignment), 0u);
  for (float w : s.state_values<float>("w")) EXPECT_EQ(w, 0);
  EXPECT_EQ(s.state_values<float>("v").size(), 3u);
}

// By name and range, in blocks, on a device that the host can reach and on one that it cannot.
TEST(Session, StatesAreReadAndWrittenByRange) {
  const auto far = make_far_backend(std::move(open_cpu_backend(1).value()));
  for (const Backend* backend : {&reference_backend(), static_cast<const Backend*>(far.get())}) {
    Session s = std::move(Session::compile(programs(), *backend).value());
    ASSERT_TRUE(s.allocate().ok());
    std::vector<float> w(32);
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i);
    s.write_state("w", std::as_bytes(std::span(w)));
    EXPECT_EQ(s.state_values<float>("w"), w);
    int blocks = 0;
    const auto fill = [&](std::span<std::byte> block) -> Status {
      EXPECT_EQ(block.size(), 8u);
      ++blocks;
      std::memset(block.data(), 0, block.size());
      return Ok{};
    };
    ASSERT_TRUE(s.write_state("w", {16, 16}, fill, 8).ok());
    EXPECT_EQ(blocks, 2);
    const std::vector<StateCopy> copies{{s.state_index("w"), 0, 124, 4}};
    s.copy_states(copies);
    std::vector<float> part;
    const auto sink = [&](std::span<const std::byte> block) -> Status {
      const auto* x = reinterpret_cast<const float*>(block.data());
      part.insert(part.end(), x, x + block.size() / sizeof(float));
      return Ok{};
    };
    ASSERT_TRUE(s.read_state("w", {0, 36}, sink).ok());
    EXPECT_EQ(part, (std::vector<float>{31, 1, 2, 3, 0, 0, 0, 0, 8}));
    EXPECT_THROW((void)s.read_state("w", {120, 12}, sink), Bug);
  }
}

TEST(Session, ADeviceOfItsOwnMemoryGivesTheSame) {
  const auto far = make_far_backend(std::move(open_cpu_backend(2).value()));
  Session s = std::move(Session::compile(programs(), *far).value());
  ASSERT_TRUE(s.allocate().ok());
  const size_t add = s.program_index("add"), read = s.program_index("read");
  for (int round = 1; round <= 2; ++round) {
    auto x = s.input<float>(add, "x");
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    s.run(add);
    s.run(read);
    EXPECT_EQ(s.output<float>(read, "y")[31], -31.0f * static_cast<float>(round));
  }
  EXPECT_EQ(s.count_not_finite("w").count, 0);
}

TEST(Session, AProfileHasEveryNodeAndItsTraceIsJson) {
  Session s = std::move(Session::compile(programs(), reference_backend()).value());
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
  // xplane() writes every name and kernel, and whole times.
  const ProfiledStep step{7, profile.nodes[0].begin, profile.nodes.back().end};
  profile.of_device = "planes of a device";
  const std::string space = xplane(s, profile, {&step, 1}, "host1");
  EXPECT_TRUE(space.ends_with(profile.of_device));
  for (const char* text : {"/host:CPU", "Steps", "thread 0", "exp", "scope", "group_id", "host1"})
    EXPECT_NE(space.find(text), std::string::npos) << text;
  const std::string table = profile_table(s, profile, {1e9, 1e9}, 1);
  EXPECT_NE(table.find("exp"), std::string::npos) << table;
}

TEST(Session, TheNullBackendPlansTheSame) {
  NullBackend null(&reference_backend());
  Session planned = std::move(Session::compile(programs(), null).value());
  Session real = std::move(Session::compile(programs(), reference_backend()).value());
  EXPECT_EQ(planned.plan().arena_bytes(), real.plan().arena_bytes());
  EXPECT_EQ(planned.plan().used_bytes(), real.plan().used_bytes());
  EXPECT_THROW((void)planned.allocate(), Bug);
}

TEST(Session, UnknownNamesAreBugs) {
  Session s = std::move(Session::compile(programs(), reference_backend()).value());
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

TEST(NotFinite, SlicesOfTheFirstAxisThatHoldSome) {
  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x{1, inf, 2, 3, 4, 5, NAN, -inf, 6, 7};
  const NotFinite found = count_not_finite({DType::f32, {5, 2}}, x.data());
  EXPECT_EQ(found.count, 3);
  EXPECT_EQ(found.first, 1);
  EXPECT_EQ(found.shape, (Shape{5, 2}));
  EXPECT_EQ(found.slices, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(count_not_finite({DType::f32, {}}, &x[1]).slices, (std::vector<int64_t>{0}));
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

TEST(Session, AReaderHasItsTimeBeforeAStateChanges) {
  const auto cpu = std::move(open_cpu_backend(2).value());
  std::vector<Program> all = programs();
  // Values between the old and the new version may share the state's memory.
  all.push_back(parsed(R"(program chain
input "x" %0 : f32[32]
state "w" %1 : f32[32] {role="param"}
  %2 : f32[32] = exp(%0)
  %3 : f32[32] = mul(%1, %2)
  %4 : f32[32] = neg(%3)
  %5 : f32[32] = add(%4, %0)
next %1 = %5
)"));
  Session s = std::move(Session::compile(std::move(all), *cpu).value());
  ASSERT_TRUE(s.allocate().ok());
  EXPECT_TRUE(s.host_reads("w"));
  for (const char* changes : {"add", "chain"}) {
    SCOPED_TRACE(changes);
    const std::vector<float> before(32, 3.0f);
    s.write_state("w", std::as_bytes(std::span(before)));
    std::vector<float> read;
    std::atomic<int> gates = 0;
    std::thread reader([&] {
      const Status done = s.read_state("w", {}, [&](std::span<const std::byte> block) -> Status {
        const auto* x = reinterpret_cast<const float*>(block.data());
        for (size_t k = 0; k < block.size() / sizeof(float); ++k) {
          read.push_back(x[k]);
          std::this_thread::yield();
        }
        return Ok{};
      });
      EXPECT_TRUE(done.ok());
    });
    s.before_change([&] {
      reader.join();
      ++gates;
    });
    s.run(s.program_index("read"));
    EXPECT_EQ(gates, 0);
    const size_t program = s.program_index(changes);
    for (float& x : s.input<float>(program, "x")) x = 1;
    s.run(program);
    EXPECT_EQ(gates, 1);
    EXPECT_EQ(read, before);
    EXPECT_NE(s.state_values<float>("w"), before);
    s.run(program);
    EXPECT_EQ(gates, 1);
    s.before_change([&] { ++gates; });
    s.write_state("w", std::as_bytes(std::span(before)));
    EXPECT_EQ(gates, 2);
  }
}

}  // namespace
}  // namespace hone
