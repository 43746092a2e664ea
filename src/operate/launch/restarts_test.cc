// Runs that start again after a crash, with shell commands as ranks.
#include "operate/launch/restarts.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/core/clock.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/ranks/control_client.h"
#include "operate/launch/errors.h"
#include "operate/launch/machines.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

class RestartsTest : public ::testing::Test {
 protected:
  RestartsTest() { std::filesystem::create_directories(folder_); }
  ~RestartsTest() override {
    std::filesystem::remove_all(folder_);
    request_stop(0);
  }
  std::string content(const std::string& name) const {
    const auto text = read_file(folder_ + "/" + name);
    return text.ok() ? *text : "";
  }
  LaunchRequest shell(int ranks, const std::string& script, int max_restarts) const {
    return {.command = {"sh", "-c", fmt::format("D={}; {}", folder_, script)},
            .ranks = ranks,
            .local_ranks = ranks,
            .token = "t",
            .max_restarts = max_restarts,
            .run_id = "r"};
  }
  static Result<LaunchEnd> launch(const LaunchRequest& r) {
    return rank_launcher_named("local")->run(r);
  }

  const std::string folder_ = testing::TempDir() + "/restarts_" + std::to_string(::getpid());
};

constexpr const char* kLog = "echo $RANK of $WORLD_SIZE >> $D/$HONE_RANKS_EPOCH; ";

// Rule 8: membership is numbered, and a new one starts all ranks.
TEST_F(RestartsTest, rule_8_AKilledRankStartsTheNextMembership) {
  const LaunchEnd end =
      launch(shell(2,
                   kLog + std::string("test $RANK$HONE_RANKS_EPOCH = 11 && kill -9 $$; "
                                      "test $HONE_RANKS_EPOCH = 1 && sleep 1000; "
                                      "echo $HONE_RUN_ID > $D/id"),
                   3))
          .value();
  EXPECT_EQ(end.status, 0);
  EXPECT_FALSE(end.failure);
  EXPECT_THAT(content("1"), HasSubstr("0 of 2"));
  EXPECT_THAT(content("2"), HasSubstr("1 of 2"));
  EXPECT_EQ(content("3"), "");
  EXPECT_EQ(content("id"), "r\n");
}

TEST_F(RestartsTest, TheNumberOfRestartsIsLimited) {
  const LaunchEnd end = launch(shell(1, kLog + std::string("kill -9 $$"), 2)).value();
  EXPECT_EQ(end.status, 128 + SIGKILL);
  EXPECT_THAT(end.failure->sentence(), HasSubstr("was ended by signal 9 (Killed)"));
  EXPECT_NE(content("3"), "");
  EXPECT_EQ(content("4"), "");
}

TEST_F(RestartsTest, AUsersMistakeIsNotRepeated) {
  std::ofstream(folder_ + "/error")
      << R"({"error": "no such setting", "code": "H0201", "where": [], "todo": ""})"
      << "\n";
  const LaunchEnd end =
      launch(shell(2,
                   kLog + std::string("test $RANK = 0 && exec sleep 0.2; "
                                      "cat $D/error >> /dev/fd/$HONE_ERROR_FD; exit 2"),
                   5))
          .value();
  EXPECT_EQ(end.status, 2);
  EXPECT_EQ(content("2"), "");
}

TEST_F(RestartsTest, ARunThatWasAskedToStopIsNotStartedAgain) {
  std::thread asks([this] {
    while (content("1").empty()) system_clock().sleep(0.01);
    request_stop(SIGTERM);
  });
  const LaunchEnd end = launch(shell(1, kLog + std::string("exec sleep 1000"), 5)).value();
  asks.join();
  EXPECT_EQ(end.status, 128 + SIGTERM);
  EXPECT_EQ(content("2"), "");
}

TEST_F(RestartsTest, MemoryGoesWithItsLauncher) {
  std::string path;
  const std::string parent = folder_ + "/memory";
  std::filesystem::create_directories(parent);
  {
    const RunMemory memory(parent);
    path = memory.path();
    std::ofstream(path + "/copy") << "x";
    EXPECT_TRUE(std::filesystem::exists(path + "/copy"));
    const RunMemory other(parent);  // leaves those of launchers that run
    EXPECT_TRUE(std::filesystem::exists(path + "/copy"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  const std::string killed =
      path.substr(0, path.find(fmt::format("-{}-", ::getpid()))) + "-99999999-abcdef";
  std::filesystem::create_directories(killed);
  const RunMemory next(parent);
  EXPECT_FALSE(std::filesystem::exists(killed));
  EXPECT_EQ(RunMemory(folder_ + "/missing").path(), "");
}

TEST(Machines, GetPlacesByTheirNumbers) {
  LaunchRequest r{.local_ranks = 2, .machine = 0};
  const std::vector<MachinePlace> places =
      places_of({{5, {-1, 4, "c"}}, {6, {1, 3, "b"}}, {7, {-1, 1, "d"}}}, r);
  EXPECT_EQ(r.ranks, 10);
  EXPECT_EQ(r.first_rank, 0);
  ASSERT_EQ(places.size(), 3u);
  EXPECT_EQ(places[0].connection, 6);
  EXPECT_EQ(places[0].first_rank, 2);
  EXPECT_EQ(places[1].connection, 5);
  EXPECT_EQ(places[1].machine, 2);
  EXPECT_EQ(places[1].first_rank, 5);
  EXPECT_EQ(places[2].machine, 3);
  EXPECT_EQ(places[2].first_rank, 9);
}

// Two launchers of one host, as if each were on a machine of its own.
class TwoMachinesTest : public RestartsTest {
 protected:
  LaunchRequest machine(int number, const std::string& script, int max_restarts) const {
    LaunchRequest r = shell(1, kLog + script, max_restarts);
    r.ranks = 2;
    r.machines = 2;
    r.machine = number;
    r.serves = number == 0;
    r.address = "127.0.0.1";
    r.port = port_;
    r.settle_s = 1;
    r.rejoin_s = 20;
    return r;
  }
  // The ends of both.
  std::vector<LaunchEnd> run_both(const LaunchRequest& first, const LaunchRequest& second) {
    std::vector<LaunchEnd> ends(2);
    std::thread other([&] { ends[1] = launch(second).value(); });
    ends[0] = launch(first).value();
    other.join();
    return ends;
  }

  const int port_ = ControlServer::open({.state = {.ranks = 1}}).value()->port();
};

TEST_F(TwoMachinesTest, BothStartTheNextMembership) {
  const std::string script =
      "test $RANK$HONE_RANKS_EPOCH = 11 && kill -9 $$; test $HONE_RANKS_EPOCH = 1 && sleep 1000; "
      "true";
  const auto ends = run_both(machine(0, script, 2), machine(1, script, 2));
  EXPECT_EQ(ends[0].status, 0);
  EXPECT_EQ(ends[1].status, 0);
  EXPECT_THAT(content("2"), HasSubstr("0 of 2"));
  EXPECT_THAT(content("2"), HasSubstr("1 of 2"));
}

TEST_F(TwoMachinesTest, AMachineThatIsGoneIsLeftOut) {
  LaunchRequest first = machine(0,
                                "test $HONE_RANKS_EPOCH = 1 && sleep 1000; "
                                "echo $HONE_RANKS_FULL > $D/full",
                                2);
  first.min_ranks = 1;
  // Its launcher does not come back: it starts no rank again.
  std::thread other([&] {
    const World at{.address = "127.0.0.1", .port = port_};
    const auto place = ask_place(at, "t", {.machine = 1}, 10, [] { return false; }).value();
    World now = at;
    now.epoch = place->epoch;
    const RankFailure failure{1, "b", {}, Error(err::kRankEnded, "the power is off"), false};
    EXPECT_TRUE(report_failure(now, "t", failure).ok());
  });
  const LaunchEnd end = launch(first).value();
  other.join();
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(content("2"), "0 of 1\n");
  EXPECT_EQ(content("full"), "2\n");
}

TEST_F(TwoMachinesTest, AMachineThatComesLaterTakesPart) {
  const std::string script = "test $WORLD_SIZE = 2 && exit 0; exec sleep 1000";
  LaunchRequest first = machine(0, script, 0), second = machine(1, script, 0);
  first.min_ranks = second.min_ranks = 1;
  std::thread other([&] {
    while (content("1").empty()) system_clock().sleep(0.01);
    EXPECT_EQ(launch(second)->status, 0);
  });
  const LaunchEnd end = launch(first).value();
  other.join();
  EXPECT_EQ(end.status, 0);
  EXPECT_EQ(content("1"), "0 of 1\n");
  EXPECT_THAT(content("2"), HasSubstr("0 of 2"));
  EXPECT_THAT(content("2"), HasSubstr("1 of 2"));
}

TEST_F(TwoMachinesTest, MachinesWithoutNumbersGetThem) {
  LaunchRequest any = machine(-1, "true", 0);
  any.serves = false;
  const auto ends = run_both(any, any);
  EXPECT_EQ(ends[0].status, 0);
  EXPECT_EQ(ends[1].status, 0);
  EXPECT_THAT(content("1"), HasSubstr("0 of 2"));
  EXPECT_THAT(content("1"), HasSubstr("1 of 2"));
}

TEST_F(TwoMachinesTest, AFailureOfOneMachineIsThatOfAll) {
  LaunchRequest first = machine(0, "exit 0", 0), second = machine(1, "exit 9", 0);
  first.min_ranks = second.min_ranks = 2;
  const auto ends = run_both(first, second);
  EXPECT_NE(ends[0].status, 0);
  EXPECT_THAT(ends[0].failure->sentence(), HasSubstr("rank 1 on host "));
  EXPECT_EQ(ends[1].status, 9);
}

}  // namespace
}  // namespace hone
