// Ranks that are threads of this process keep copies as if they were on several hosts.
#include "learn/train/host_copies.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/core/log.h"
#include "base/store/temporary_folder.h"
#include "engine/comm/loopback.h"
#include "learn/checkpoint/ranges.h"
#include "learn/train/settings.h"

namespace hone {
namespace {

using Parts = std::vector<CopyPart>;

TEST(CopyParts, AreNamedByTheirFolders) {
  const CopyPart part{7, 3, 12, 40};
  EXPECT_EQ(part.path(), "7-3-of-12/checkpoint-40");
  const CopyPart again = CopyPart::of_folder(part.folder()).value();
  EXPECT_EQ(again.epoch, 7);
  EXPECT_EQ(again.rank, 3);
  EXPECT_EQ(again.ranks, 12);
  for (const char* name : {"7-3-of", "7-3-of-3", "7--3-of-12", "7-3-in-12", "-7-3-of-12",
                           "checkpoint-4", "7-3-of-12-1", "7-3-of-99999999999", "", "x-3-of-12"})
    EXPECT_FALSE(CopyPart::of_folder(name)) << name;
}

TEST(CopySets, CountOnlyWithEachPart) {
  const auto part = [](int rank, int64_t step, int64_t epoch = 1, int ranks = 2) {
    return CopyPart{epoch, rank, ranks, step};
  };
  EXPECT_FALSE(newest_copy_set({{}, {}}));
  EXPECT_FALSE(newest_copy_set({{part(0, 4)}, {}})) << "rank 1's part is lost";
  EXPECT_FALSE(newest_copy_set({{part(0, 4)}, {part(1, 5)}})) << "of two steps";
  EXPECT_FALSE(newest_copy_set({{part(0, 4)}, {part(1, 4, 2)}})) << "of two memberships";
  EXPECT_FALSE(newest_copy_set({{part(1, 4)}, {part(0, 4)}})) << "rank 0 reads the first part";

  const auto older = newest_copy_set({{part(0, 4), part(0, 5), part(1, 4)}, {}});
  ASSERT_TRUE(older);
  EXPECT_EQ(older->first.step, 4) << "step 5 is not complete";
  EXPECT_EQ(older->holders, (std::vector<int>{0, 0}));

  const auto newer = newest_copy_set({{part(0, 4), part(0, 5), part(1, 4)}, {part(1, 5)}});
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->first.step, 5);
  EXPECT_EQ(newer->holders, (std::vector<int>{0, 1}));

  const auto later = newest_copy_set({{part(0, 4), part(0, 4, 3, 1)}, {part(1, 4)}});
  EXPECT_EQ(later->first.epoch, 3) << "of the later membership";
  EXPECT_EQ(later->first.ranks, 1);
}

TEST(CopiedRanks, AreThoseOfTheHostBefore) {
  const std::vector<std::string> equal = {"a", "a", "b", "b", "c", "c"};
  EXPECT_EQ(copied_ranks(equal, 0, 1), (std::vector<int>{4}));
  EXPECT_EQ(copied_ranks(equal, 3, 1), (std::vector<int>{1}));
  EXPECT_EQ(copied_ranks(equal, 5, 2), (std::vector<int>{3, 1}));
  EXPECT_EQ(copied_ranks(equal, 5, 9), (std::vector<int>{3, 1})) << "there are two other hosts";
  EXPECT_EQ(copied_ranks(equal, 5, 0), (std::vector<int>{}));
  EXPECT_EQ(copied_ranks({"a", "a"}, 1, 1), (std::vector<int>{})) << "there is no other host";
  const std::vector<std::string> unequal = {"a", "a", "a", "b", "b"};
  EXPECT_EQ(copied_ranks(unequal, 3, 1), (std::vector<int>{0, 2}));
  EXPECT_EQ(copied_ranks(unequal, 4, 1), (std::vector<int>{1}));
  EXPECT_EQ(copied_ranks(unequal, 2, 1), (std::vector<int>{}));
}

constexpr int64_t kRows = 6;

class CopiesOnHosts : public ::testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::kError); }
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  std::string memory(int host) const { return fmt::format("{}/{}", folder_.path, host); }
  // A membership of `hosts`, one rank on each. fn(ranks, copies) is called on a thread for each rank.
  Status run(const std::vector<int>& hosts, int64_t epoch,
             const std::function<Status(RunRanks&, HostCopies&)>& fn) {
    for (const int host : hosts) HONE_TRY(file_store().make_dirs(memory(host)));
    LoopbackWorld loopback(static_cast<int>(hosts.size()));
    LocalKeyValues messages;
    return loopback.run([&](Group& group) -> Status {
      const World world{.rank = group.rank(),
                        .ranks = group.ranks(),
                        .host = "one name",
                        .epoch = epoch,
                        .full_ranks = 3};
      RunRanks ranks(world, messages, group);
      const CopyOptions options{.memory = memory(hosts[static_cast<size_t>(group.rank())]),
                                .address = "127.0.0.1",
                                .token = "a token"};
      const auto copies = HONE_TRY(HostCopies::open(ranks, options));
      HONE_TRY(fn(ranks, *copies));
      return ranks.agree("the end", Ok{});  // the others may read from this one until then
    });
  }

  // Writes this rank's rows of a tensor whose elements are `step`.
  static Status write_part(RunRanks& ranks, HostCopies& copies, int64_t step) {
    const Share& share = ranks.share();
    const RowRange rows{kRows * share.rank / share.ranks, kRows * (share.rank + 1) / share.ranks};
    const std::vector<float> values(static_cast<size_t>(rows.count()), static_cast<float>(step));
    const std::vector<TensorData> own = {{range_name("w", rows),
                                          {DType::f32, {rows.count()}},
                                          std::as_bytes(std::span(values)),
                                          {}}};
    CheckpointWriter w = HONE_TRY(CheckpointWriter::begin(copies.own_folder(), step));
    HONE_TRY(w.add_tensors("model", own));
    HONE_TRY(w.add_tensors(kOptimizerStem, own));
    if (ranks.leads()) {
      HONE_TRY(w.add_json(kStateFile, Json{{"step", step}}));
      HONE_TRY(w.add_json(kTrainerStateFile, Json::object()));
    }
    HONE_TRY(w.commit());
    return ranks.agree("a part", Ok{});
  }
  static Status copy(RunRanks& ranks, HostCopies& copies, int64_t step) {
    HONE_TRY(write_part(ranks, copies, step));
    return copies.spread(step);
  }

  // Checks that the newest set is that of `step` and has the whole tensor; -1: that there is none.
  static Status expect_newest(HostCopies& copies, int64_t step) {
    EXPECT_EQ(copies.newest() ? copies.newest()->first.step : -1, step);
    if (!copies.newest()) return Ok{};
    const ResumeState from = HONE_TRY(copies.open_newest());
    EXPECT_EQ(from.state.at("step"), step);
    std::vector<float> all(kRows);
    for (const WeightSource* source : {from.weights.get(), from.optimizer.get()}) {
      HONE_TRY(source->read("w", DType::f32, std::as_writable_bytes(std::span(all))));
      EXPECT_EQ(all, std::vector<float>(kRows, static_cast<float>(step)));
    }
    return Ok{};
  }
  void lose(int host) const { std::filesystem::remove_all(memory(host)); }
  std::vector<std::string> steps_of(int host) const {
    std::vector<std::string> steps;
    for (const std::string& part : names_in(memory(host)))
      for (const std::string& step : names_in(memory(host) + "/" + part))
        steps.push_back(part + "/" + step);
    return steps;
  }

  TemporaryFolder folder_;
};

TEST_F(CopiesOnHosts, OutliveAnyHostButThatOfRank0) {
  for (const int lost : {1, 2}) {
    const Status written = run({0, 1, 2}, 1, [](RunRanks& ranks, HostCopies& copies) -> Status {
      HONE_TRY(expect_newest(copies, -1));
      for (const int64_t step : {1, 2, 3}) {
        EXPECT_TRUE(HONE_TRY(copies.settle()));
        HONE_TRY(copy(ranks, copies, step));
      }
      EXPECT_TRUE(HONE_TRY(copies.settle()));
      return Ok{};
    });
    ASSERT_TRUE(written.ok()) << written.error().text();
    EXPECT_EQ(steps_of(1),
              (std::vector<std::string>{"1-0-of-3/checkpoint-3", "1-1-of-3/checkpoint-3"}))
        << "the older ones are deleted";
    lose(lost);
    // The host is empty: a replacement. Then it is missing.
    for (const std::vector<int>& hosts : {std::vector<int>{0, 1, 2}, {0, 3 - lost}}) {
      const Status read =
          run(hosts, 2, [](RunRanks&, HostCopies& copies) { return expect_newest(copies, 3); });
      EXPECT_TRUE(read.ok()) << read.error().text();
    }
    lose(3 - lost);
    const Status none =
        run({0, 1, 2}, 3, [](RunRanks&, HostCopies& copies) { return expect_newest(copies, -1); });
    EXPECT_TRUE(none.ok()) << "two hosts are lost: " << none.error().text();
    lose(0);
  }
}

TEST_F(CopiesOnHosts, AnIncompleteSetLeavesTheOlderOne) {
  // Step 2 ends on each host before others copy it, and its part is still there: no host was lost.
  const auto killed = [](RunRanks& ranks, HostCopies& copies) -> Status {
    HONE_TRY(copy(ranks, copies, 1));
    EXPECT_TRUE(HONE_TRY(copies.settle()));
    return write_part(ranks, copies, 2);
  };
  ASSERT_TRUE(run({0, 1, 2}, 1, killed).ok());
  ASSERT_TRUE(run({0, 1, 2}, 2, [](RunRanks&, HostCopies& copies) {
                return expect_newest(copies, 2);
              }).ok());
  // With host 1 its part of step 2 is lost, and that of step 1 is on host 2.
  lose(1);
  ASSERT_TRUE(run({0, 1, 2}, 3, [](RunRanks&, HostCopies& copies) {
                return expect_newest(copies, 1);
              }).ok());
  // The next membership repeats step 2: the older parts of that step do not count with its own.
  ASSERT_TRUE(run({0, 1, 2}, 4, [](RunRanks& ranks, HostCopies& copies) -> Status {
                HONE_TRY(expect_newest(copies, 1));
                return ranks.share().rank == 1 ? write_part(ranks, copies, 2)
                                               : ranks.agree("a part", Ok{});
              }).ok());
  ASSERT_TRUE(run({0, 1, 2}, 5, [](RunRanks&, HostCopies& copies) {
                return expect_newest(copies, 1);
              }).ok());
}

TEST_F(CopiesOnHosts, APartThatCannotBeCopiedIsDroppedWithItsSet) {
  const Status done = run({0, 1}, 1, [](RunRanks& ranks, HostCopies& copies) -> Status {
    HONE_TRY(copy(ranks, copies, 1));
    EXPECT_TRUE(HONE_TRY(copies.settle()));
    HONE_TRY(write_part(ranks, copies, 2));
    // Damage on the way.
    if (ranks.leads())
      HONE_TRY(file_store().write(copies.own_folder() + "/checkpoint-2/model.safetensors", "x"));
    HONE_TRY(ranks.agree("damage", Ok{}));
    HONE_TRY(copies.spread(2));
    EXPECT_TRUE(HONE_TRY(copies.settle())) << "there is room for the next one";
    return Ok{};
  });
  ASSERT_TRUE(done.ok()) << done.error().text();
  for (const int host : {0, 1})
    EXPECT_EQ(steps_of(host),
              (std::vector<std::string>{"1-0-of-2/checkpoint-1", "1-1-of-2/checkpoint-1"}));
}

TEST_F(CopiesOnHosts, LeftoversOfKilledRanksGo) {
  ASSERT_TRUE(run({0, 1}, 1, [](RunRanks& ranks, HostCopies& copies) -> Status {
                HONE_TRY(copy(ranks, copies, 1));
                EXPECT_TRUE(HONE_TRY(copies.settle()));
                return file_store().make_dirs(copies.own_folder() + "/checkpoint-2.tmp-12345");
              }).ok());
  ASSERT_TRUE(run({0, 1}, 2, [](RunRanks&, HostCopies& copies) -> Status {
                HONE_TRY(expect_newest(copies, 1));
                return copies.drop();
              }).ok());
  for (const int host : {0, 1}) EXPECT_EQ(steps_of(host), (std::vector<std::string>{}));
}

TEST_F(CopiesOnHosts, AHostWithoutMemoryMeansNoCopies) {
  LoopbackWorld loopback(2);
  LocalKeyValues messages;
  ASSERT_TRUE(file_store().make_dirs(memory(0)).ok());
  const Status done = loopback.run([&](Group& group) -> Status {
    RunRanks ranks({.rank = group.rank(), .ranks = 2, .host = "here"}, messages, group);
    const auto copies = HONE_TRY(HostCopies::open(
        ranks,
        {.memory = group.rank() == 0 ? memory(0) : "", .address = "127.0.0.1", .token = "t"}));
    EXPECT_EQ(copies, nullptr);
    return Ok{};
  });
  EXPECT_TRUE(done.ok()) << done.error().text();
}

}  // namespace
}  // namespace hone
