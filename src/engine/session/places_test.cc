// States outside of the device: the same values, read and written by name as ever.
#include "engine/session/places_test.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>

#include "engine/backends/cpu/backend.h"
#include "engine/backends/cuda/emulator/emulated.h"
#include "engine/backends/far/far.h"
#include "engine/backends/reference/reference.h"
#include "engine/device/errors.h"
#include "engine/session/session.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// Receives the blocks of a read as one list.
auto append_to(std::vector<float>& values) {
  return [&values](std::span<const std::byte> block) -> Status {
    const auto* x = reinterpret_cast<const float*>(block.data());
    values.insert(values.end(), x, x + block.size() / sizeof(float));
    return Ok{};
  };
}

// A tensor of seven rows in three states.
std::string program_of_rows(Space home) {
  std::string text = "program p\ninput \"x\" %0 : f32[2]\n";
  const auto shard = [&](int id, int first, int end) {
    text += fmt::format(
        "state \"t[{}:{}]\" %{} : f32[{},3] {{role=\"moment\", home=\"{}\", "
        "shard_of=\"t\", rows=[{},7]}}\n",
        first, end, id, end - first, name_of(home), first);
  };
  shard(1, 0, 2);
  shard(2, 2, 6);
  shard(3, 6, 7);
  return text + "  %4 : f32[2] = exp(%0)\noutput \"y\" = %4\n";
}

class Homes : public testing::Test {
 protected:
  Homes() : folder_(fs::path(testing::TempDir()) / fmt::format("homes.{}", getpid())) {
    backends_.push_back(make_reference_backend());
    backends_.push_back(std::move(open_cpu_backend(2).value()));
    backends_.push_back(make_far_backend(std::move(open_cpu_backend(3).value())));
    backends_.push_back(std::move(make_emulated_cuda_backend({}).value()));
  }
  ~Homes() override { fs::remove_all(folder_); }

  Session session(const Backend& backend, Space home) {
    std::vector<Program> programs;
    programs.push_back(step(home));
    Session s = std::move(Session::compile(std::move(programs), backend).value());
    EXPECT_TRUE(s.allocate(folder_).ok());
    return s;
  }
  static void run(Session& s, int times) {
    for (int k = 0; k < times; ++k) {
      std::span<float> x = s.input<float>(0, "x");
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 97);
      s.run(0);
    }
  }

  const std::string folder_;
  std::vector<std::unique_ptr<Backend>> backends_;
};

TEST_F(Homes, AStepGivesTheSameValues) {
  for (const auto& backend : backends_)
    for (const Space home : kSpaces) {
      SCOPED_TRACE(fmt::format("{} {}", backend->name(), name_of(home)));
      Session s = session(*backend, home);
      std::vector<float> w(kCount, 0.5f);
      s.write_state("m2", std::as_bytes(std::span(w)));
      run(s, 20);
      for (int m = 0; m < kStates; ++m) {
        const std::vector<float> values = s.state_values<float>(fmt::format("m{}", m));
        for (size_t i = 0; i < kCount; ++i)
          ASSERT_EQ(values[i], (m == 2 ? 0.5f : 0) + 20 * static_cast<float>(i % 97)) << m;
      }
      EXPECT_TRUE(s.check().ok());
      for (const Space space : kSpaces)
        EXPECT_EQ(s.arena(space) ? s.arena(space)->bytes() : 0, s.plan().arena_bytes(space));
    }
}

TEST_F(Homes, StatesAreReadAndWrittenByRangeAndName) {
  for (const auto& backend : backends_)
    for (const Space home : kSpaces) {
      SCOPED_TRACE(fmt::format("{} {}", backend->name(), name_of(home)));
      Session s = session(*backend, home);
      const auto fill = [&](std::span<std::byte> block) -> Status {
        auto* x = reinterpret_cast<float*>(block.data());
        for (size_t i = 0; i < block.size() / 4; ++i) x[i] = static_cast<float>(i);
        return Ok{};
      };
      ASSERT_TRUE(s.write_state("m1", {40, 4000}, fill, 1000).ok());
      const std::vector<StateCopy> copies{{s.state_index("m1"), 0, 44, 8}};
      s.copy_states(copies);
      std::vector<float> got;
      ASSERT_TRUE(s.read_state("m1", {0, 56}, append_to(got)).ok());
      EXPECT_EQ(got, (std::vector<float>{1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3}));
      EXPECT_EQ(s.count_not_finite("m1").count, 0);
      s.zero_states(Role::moment);
      EXPECT_EQ(s.state_values<float>("m1"), std::vector<float>(kCount, 0));
    }
}

TEST_F(Homes, ATensorOfSeveralStatesIsReadAndWrittenAsOne) {
  for (const auto& backend : backends_)
    for (const Space home : kSpaces) {
      SCOPED_TRACE(fmt::format("{} {}", backend->name(), name_of(home)));
      std::vector<Program> programs{parse_program(program_of_rows(home), op_table()).value()};
      Session s = std::move(Session::compile(std::move(programs), *backend).value());
      ASSERT_TRUE(s.allocate(folder_).ok());
      EXPECT_TRUE(s.has_state("t"));
      EXPECT_FALSE(s.has_state("t[0:2]"));
      EXPECT_EQ(s.state_type("t").text(), "f32[7,3]");
      EXPECT_THROW((void)s.state_slot("t"), Bug);
      std::vector<float> values(21);
      std::iota(values.begin(), values.end(), 1.0f);
      s.write_state("t", std::as_bytes(std::span(values)));
      EXPECT_EQ(s.state_values<float>("t"), values);
      values[20] = std::numeric_limits<float>::infinity();
      size_t at = 4;
      const auto fill = [&](std::span<std::byte> block) -> Status {
        std::memcpy(block.data(), values.data() + at, block.size());
        at += block.size() / sizeof(float);
        return Ok{};
      };
      ASSERT_TRUE(s.write_state("t", {16, 68}, fill, 20).ok());
      std::vector<float> got;
      ASSERT_TRUE(s.read_state("t", {20, 56}, append_to(got)).ok());
      EXPECT_EQ(got, std::vector<float>(values.begin() + 5, values.begin() + 19));
      EXPECT_EQ(s.count_not_finite("t").first, 20);
      EXPECT_EQ(s.count_not_finite("t").elements, 21);
      EXPECT_THROW((void)s.read_state("t", {20, 68}, append_to(got)), Bug);
    }
}

TEST_F(Homes, ValuesThatAreNotFiniteAreFoundOnTheDevice) {
  for (const Space home : {Space::host, Space::disk}) {
    Session s = session(*backends_[2], home);
    std::vector<float> w(kCount, 0.0f);
    w[11] = std::numeric_limits<float>::infinity();
    s.write_state("m3", std::as_bytes(std::span(w)));
    std::optional<NotFinite> found;
    s.find_not_finite(&found);
    run(s, 1);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->op, "wait");
    EXPECT_EQ(found->first, 11);
    EXPECT_EQ(s.count_not_finite("m3").first, 11);
  }
}

// The file is made shorter between two steps.
TEST_F(Homes, ADiskThatFailsShowsAfterTheStep) {
  Session s = session(*backends_[1], Space::disk);
  run(s, 1);
  EXPECT_TRUE(s.check().ok());
  for (const auto& e : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (fs::read_symlink(e.path(), gone).string().starts_with(folder_)) fs::resize_file(e, 0);
  }
  run(s, 1);
  const Status failed = s.check();
  ASSERT_FALSE(failed.ok());
  EXPECT_STREQ(failed.error().code(), err::kDiskFails.id);
  const auto sink = [](std::span<const std::byte>) -> Status { return Ok{}; };
  EXPECT_FALSE(s.read_state("m0", {}, sink).ok()) << "nothing of it may be saved";
}

TEST_F(Homes, AFileThatCannotBeMadeIsAnErrorBeforeTheFirstStep) {
  std::vector<Program> programs;
  programs.push_back(step(Space::disk));
  Session s = std::move(Session::compile(std::move(programs), *backends_[1]).value());
  const Status refused = s.allocate("/dev/null/folder");
  ASSERT_FALSE(refused.ok());
  EXPECT_STREQ(refused.error().code(), err::kNoDisk.id);
  EXPECT_FALSE(s.allocated());
}

}  // namespace
}  // namespace hone
