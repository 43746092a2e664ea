// Ranks as threads of this process, over real connections.
#include "base/ranks/control.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "base/core/signals.h"
#include "base/ranks/connection.h"
#include "base/ranks/errors.h"
#include "base/ranks/key_values.h"
#include "base/ranks/tcp_traffic.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A rank that fails does not leave the others waiting for its values.
TEST(LocalKeyValues, TheEndOfARankEndsWaits) {
  LocalKeyValues keys;
  ASSERT_TRUE(keys.set("here", "1").ok());
  std::thread rank([&] { keys.end(Error(err::kRankFailed, "rank 1 has ended")); });
  const auto waited = keys.get("never");
  rank.join();
  ASSERT_FALSE(waited.ok());
  EXPECT_EQ(waited.error().what(), "rank 1 has ended");
  EXPECT_EQ(keys.get("here").value(), "1") << "values that are set stay";
}

// Runs f(rank) for each rank, each on a thread.
void on_threads(int ranks, const std::function<void(int rank)>& f) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) threads.emplace_back([&f, rank] { f(rank); });
  for (std::thread& t : threads) t.join();
}

class ControlTest : public ::testing::Test {
 protected:
  void serve(int ranks, ControlTimes times = {}) {
    server_ = ControlServer::open({.state = {.ranks = ranks, .token = "t", .times = times},
                                   .say =
                                       [this](const std::string& line) {
                                         const std::lock_guard lock(mutex_);
                                         lines_ += line + "\n";
                                       }})
                  .value();
    ranks_ = ranks;
  }
  World world(int rank) const {
    return {.rank = rank,
            .ranks = ranks_,
            .host = fmt::format("h{}", rank),
            .address = "127.0.0.1",
            .port = server_->port()};
  }
  Result<std::unique_ptr<ControlClient>> join(int rank, JoinOptions options = {}) const {
    if (options.token.empty()) options.token = "t";
    options.heartbeat_s = 0.05;
    return ControlClient::join(world(rank), std::move(options));
  }
  // Runs a function for the client of each rank, each on a thread.
  template <class F>
  void run_ranks(F f) const {
    on_threads(ranks_, [&](int rank) {
      const auto client = join(rank);
      ASSERT_TRUE(client.ok()) << client.error().text();
      f(rank, **client);
      (*client)->leave();
    });
  }
  bool said(const std::string& text, double patience_s = 5) {
    for (const double end = system_clock().seconds() + patience_s;
         system_clock().seconds() < end;) {
      {
        const std::lock_guard lock(mutex_);
        if (lines_.find(text) != std::string::npos) return true;
      }
      system_clock().sleep(0.01);
    }
    return false;
  }
  FileDescriptor stranger() const { return connect_to("127.0.0.1", server_->port(), {}).value(); }
  // Whether the server ends a connection within 5 s.
  static bool is_ended(const FileDescriptor& fd) {
    FileDescriptor copy(::dup(fd.get()));
    FrameConnection connection(std::move(copy), kServerLimits);
    for (const double end = system_clock().seconds() + 5; system_clock().seconds() < end;) {
      if (!connection.read()) return true;
      system_clock().sleep(0.01);
    }
    return false;
  }

  int ranks_ = 0;
  std::mutex mutex_;
  std::string lines_;
  std::unique_ptr<ControlServer> server_;  // destroyed first: it writes lines
};

TEST_F(ControlTest, SixtyFourRanksJoinMeetAndShareKeys) {
  serve(64);
  std::atomic<int> right = 0;
  run_ranks([&](int rank, ControlClient& client) {
    ASSERT_TRUE(client.barrier("start").ok());
    const auto all = client.gather("numbers", std::to_string(rank * 7)).value();
    ASSERT_EQ(all.size(), 64u);
    ASSERT_TRUE(client.set(fmt::format("key {}", rank), all[static_cast<size_t>(rank)]).ok());
    if (rank == 0) {
      ASSERT_TRUE(client.publish("loss", {{"eval_loss", 2.5}}).ok());
    }
    right += client.get(fmt::format("key {}", (rank + 1) % 64)).value() ==
                 std::to_string((rank + 1) % 64 * 7) &&
             client.published("loss").value()["eval_loss"] == 2.5;
  });
  EXPECT_EQ(right, 64);
  EXPECT_TRUE(server_->wait_for_ranks(5));
  EXPECT_FALSE(server_->first_failure());
}

TEST_F(ControlTest, AMissingRankIsNamedWhileOthersWait) {
  serve(3, {.report_s = 0.2});
  std::atomic<bool> asked = false;
  run_ranks([&](int rank, ControlClient& client) {
    client.set_step(4);
    if (rank == 2) {
      const HostWork work(&client, "evaluation", 10);
      work.update(3);
      while (!asked) system_clock().sleep(0.01);
      client.reach(1, "all_reduce of w");
      client.pass();
    } else {
      client.reach(1, "all_reduce of w");
      if (rank == 0) {
        EXPECT_TRUE(said("2 of 3 ranks wait at 'all_reduce of w'"));
        EXPECT_TRUE(said("rank 2 on host h2: evaluation, 3 of 10"));
        const auto missing = client.who_is_missing(1).value();
        ASSERT_EQ(missing.size(), 1u);
        EXPECT_THAT(missing[0].text(), HasSubstr("rank 2 on host h2: evaluation, 3 of 10"));
        asked = true;
      }
    }
    EXPECT_TRUE(client.barrier("end").ok());
  });
  EXPECT_EQ(server_->progress(2).step, 4);
}

TEST_F(ControlTest, AWaitForAKeyEndsAfterItsPatience) {
  serve(1);
  const auto client = join(0).value();
  const Result<std::string> none = client->get("nothing", 0.05);
  EXPECT_TRUE(none.error().is(err::kRanksMissing));
  EXPECT_EQ(client->gather("alone", "x").value(), std::vector<std::string>{"x"});
}

TEST_F(ControlTest, RanksThatMayNotJoinAreRefused) {
  serve(2);
  const auto first = join(0, {.facts = {{"program", "p"}}}).value();
  EXPECT_TRUE(join(1, {.token = "wrong"}).error().is(err::kRankRefused));
  World late = world(1);
  late.epoch = 2;
  EXPECT_TRUE(ControlClient::join(late, {.token = "t"}).error().is(err::kStaleEpoch));
  const auto differs = join(1, {.facts = {{"program", "q"}}});
  EXPECT_TRUE(differs.error().is(err::kRankDiffers));
  const Status waits = first->barrier("start");
  EXPECT_TRUE(waits.error().is(err::kRankFailed));
  EXPECT_THAT(waits.error().what(), HasSubstr("program 'q' instead of 'p'"));
}

TEST_F(ControlTest, ANewMembershipEndsTheWaitsOfTheOld) {
  serve(2);
  const auto first = join(0).value();
  std::thread later([&] {
    system_clock().sleep(0.05);
    server_->begin_epoch(1);
  });
  EXPECT_TRUE(first->get("x").error().is(err::kStaleEpoch));
  later.join();
  EXPECT_EQ(server_->epoch(), 2);
  World next = world(0);
  next.epoch = 2;
  next.ranks = 1;
  EXPECT_TRUE(ControlClient::join(next, {.token = "t"}).value()->barrier("start").ok());
}

TEST_F(ControlTest, EveryRankHearsTheFirstError) {
  serve(3);
  run_ranks([&](int rank, ControlClient& client) {
    client.set_step(6);
    if (rank == 2) client.fail(Error(err::kControlMessage, "the disk is full").at("out"));
    const Result<std::string> status = client.get("never");
    EXPECT_EQ(status.error().what(),
              "rank 2 on host h2 failed first at step 6: H0128 the disk is full");
    EXPECT_THAT(status.error().where(), ElementsAre("out"));
  });
}

TEST_F(ControlTest, ARequestToStopReachesRanksAsASignalDoes) {
  serve(1);
  const auto first = join(0).value();
  server_->stop(SIGINT);
  for (int i = 0; i < 500 && !stop_requested(); ++i) system_clock().sleep(0.01);
  EXPECT_EQ(stop_signal(), SIGINT);
  request_stop(0);
}

TEST_F(ControlTest, ALauncherOfAnotherHostReportsAFailure) {
  serve(2);
  const auto first = join(0).value();
  const RankFailure failure{1, "b", {}, Error(err::kControlMessage, "memory ran out"), false};
  EXPECT_TRUE(report_failure(world(0), "wrong", failure).ok());
  EXPECT_FALSE(server_->first_failure());
  EXPECT_TRUE(report_failure(world(0), "t", failure).ok());
  EXPECT_THAT(first->get("x").error().what(), HasSubstr("rank 1 on host b failed first"));
}

// The kernel closes the connections of a process that is killed.
TEST_F(ControlTest, ARankThatEndsWithoutAWordIsNoticedAndNamed) {
  serve(2);
  const auto first = join(0).value();
  auto second = join(1).value();
  second.reset();
  const double begin = system_clock().seconds();
  EXPECT_THAT(first->barrier("x").error().what(),
              HasSubstr("rank 1 on host h1 ended without an error"));
  EXPECT_LT(system_clock().seconds() - begin, 5);
}

// The kernel of a stopped process answers for it, that of a killed one closes its connection.
TEST_F(ControlTest, AStoppedProcessIsNamedAndSurvivesAndAKilledOneIsNoticed) {
  ranks_ = 2;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    World place = World::alone();
    if (::read(ends[0], &place.port, sizeof place.port) != sizeof place.port) ::_exit(1);
    place = {.rank = 1, .ranks = 2, .host = "h1", .address = "127.0.0.1", .port = place.port};
    const auto client = ControlClient::join(place, {.token = "t", .heartbeat_s = 0.05});
    if (!client.ok() || !(*client)->barrier("start").ok()) ::_exit(1);
    for (;;) ::pause();
  }
  serve(2, {.silent_s = 0.5});
  const int port = server_->port();
  ASSERT_EQ(::write(ends[1], &port, sizeof port), static_cast<ssize_t>(sizeof port));
  const auto first = join(0).value();
  ASSERT_TRUE(first->barrier("start").ok());
  ::kill(child, SIGSTOP);
  EXPECT_TRUE(said("rank 1 on host h1: is silent for"));
  system_clock().sleep(0.5);
  EXPECT_FALSE(server_->first_failure());
  ::kill(child, SIGCONT);
  const auto is_heard = [&] { return !server_->is_silent(1); };
  for (int i = 0; i < 500 && !is_heard(); ++i) system_clock().sleep(0.01);
  EXPECT_TRUE(is_heard());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const double begin = system_clock().seconds();
  EXPECT_THAT(first->barrier("end").error().what(), HasSubstr("rank 1 on host h1 ended without"));
  EXPECT_LT(system_clock().seconds() - begin, 5);
  for (const int end : ends) ::close(end);
}

TEST_F(ControlTest, AStrangersBytesEndNothing) {
  serve(2);
  const auto first = join(0).value();
  for (const std::string_view bytes :
       {"GET / HTTP/1.0\r\n\r\n", "hone\xff\xff\xff\xff\xff\xff\xff\xff",
        "hone\2\0\0\0\0\0\0\0{}"}) {
    const FileDescriptor fd = stranger();
    const std::string sent(bytes.data(), bytes.size());
    EXPECT_EQ(::send(fd.get(), sent.data(), sent.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(sent.size()));
  }
  const FileDescriptor fd = stranger();
  const std::string set = encode_frame({{{"do", "set"}, {"key", "a"}}, ""});
  EXPECT_EQ(::send(fd.get(), set.data(), set.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(set.size()));
  EXPECT_TRUE(is_ended(fd));
  const auto second = join(1).value();
  EXPECT_TRUE(second->set("k", "v").ok());
  EXPECT_EQ(first->get("k").value(), "v");
}

TEST_F(ControlTest, AnotherServerAtTheAddressIsNamed) {
  const Listener listener = listen_at(0, true).value();
  std::thread other([&] {
    pollfd ready{listener.socket.get(), POLLIN, 0};
    ::poll(&ready, 1, 5000);
    const FileDescriptor fd(::accept(listener.socket.get(), nullptr, nullptr));
    (void)::send(fd.get(), "HTTP/1.1 400 \r\n", 15, MSG_NOSIGNAL);
  });
  World world = World::alone();
  world.address = "127.0.0.1";
  world.port = listener.port;
  EXPECT_TRUE(ControlClient::join(world, {}).error().is(err::kControlMessage));
  other.join();
}

TEST_F(ControlTest, SaysThatNobodyServes) {
  World world = World::alone();
  world.address = "127.0.0.1";
  world.port = listen_at(0, true)->port;
  const auto none = ControlClient::join(world, {.patience_s = 0.1});
  EXPECT_TRUE(none.error().is(err::kControlLost));
  EXPECT_THAT(none.error().what(), HasSubstr("Connection refused"));
}

TEST_F(ControlTest, ALostControlPlaneEndsWaits) {
  serve(2);
  const auto first = join(0).value();
  std::thread later([&] {
    system_clock().sleep(0.05);
    server_.reset();
  });
  EXPECT_TRUE(first->get("x").error().is(err::kControlLost));
  later.join();
}

TEST_F(ControlTest, APortIsChosenByTheKernelOrRefusedByNumber) {
  serve(1);
  EXPECT_GT(server_->port(), 0);
  const auto taken = ControlServer::open({.port = server_->port()});
  EXPECT_TRUE(taken.error().is(err::kControlPort));
  EXPECT_THAT(taken.error().what(), HasSubstr(std::to_string(server_->port())));
  EXPECT_TRUE(ControlServer::open({.loopback = false}).error().is(err::kRankRefused));
}

TEST_F(ControlTest, AMachineAsksForItsPlace) {
  serve(2);
  std::optional<MachinePlace> place;
  std::thread asking([&] {
    place = ask_place(world(0), "t", {.machine = 1, .slots = 3, .host = "b"}, 5, [] {
              return false;
            }).value();
  });
  std::vector<WaitingMachine> waiting;
  while (waiting.empty()) {
    system_clock().sleep(0.01);
    waiting = server_->waiting_machines();
  }
  EXPECT_EQ(waiting[0].request.slots, 3);
  EXPECT_EQ(waiting[0].request.host, "b");
  server_->begin_epoch(5);
  server_->place_machines({{.connection = waiting[0].connection,
                            .machine = 1,
                            .epoch = server_->epoch(),
                            .ranks = 5,
                            .full_ranks = 5,
                            .first_rank = 2}});
  asking.join();
  ASSERT_TRUE(place);
  EXPECT_EQ(place->epoch, 2);
  EXPECT_EQ(place->first_rank, 2);
}

TEST_F(ControlTest, AMachineHearsOfTheEndAndOfALostServer) {
  serve(1);
  const auto ask = [&] {
    return ask_place(world(0), "t", {.machine = 1}, 5, [] { return false; });
  };
  std::optional<Result<std::optional<MachinePlace>>> answer;
  const auto ask_while = [&](const std::function<void()>& then) {
    std::thread asking([&] { answer.emplace(ask()); });
    while (server_->waiting_machines().empty()) system_clock().sleep(0.01);
    then();
    asking.join();
  };
  ask_while([&] { server_->end_machines(7); });
  ASSERT_TRUE(answer->ok());
  EXPECT_TRUE((**answer)->over);
  EXPECT_EQ((**answer)->status, 7);
  EXPECT_TRUE(
      ask_place(world(0), "guessed", {}, 5, [] { return false; }).error().is(err::kRankRefused));
  const World at = world(0);
  std::thread asking(
      [&] { answer.emplace(ask_place(at, "t", {.machine = 1}, 5, [] { return false; })); });
  while (server_->waiting_machines().empty()) system_clock().sleep(0.01);
  server_.reset();
  asking.join();
  EXPECT_TRUE(answer->error().is(err::kControlLost));
}

TEST_F(ControlTest, ARankKnowsTheTimesOfAll) {
  serve(2);
  run_ranks([&](int rank, ControlClient& client) {
    client.set_busy(4, rank + 0.5, rank + 1);
    client.set_step(4);
    EXPECT_TRUE(client.barrier("all are here").ok());
    const std::vector<RankTimes> times = client.rank_times().value();
    ASSERT_EQ(times.size(), 2u);
    EXPECT_EQ(times[1].host, "h1");
    EXPECT_EQ(times[1].timed_steps, 4);
    EXPECT_EQ(times[1].busy_p50_s, 1.5);
    EXPECT_EQ(times[0].busy_p99_s, 1);
    EXPECT_TRUE(client.barrier("all have asked").ok());
  });
}

TEST(TcpTraffic, CountsTheBytesOfOtherConnections) {
  const Listener listener = listen_at(0, true).value();
  const FileDescriptor out = connect_to("127.0.0.1", listener.port, {.patience_s = 5}).value();
  const FileDescriptor in(::accept(listener.socket.get(), nullptr, nullptr));
  const int64_t before = tcp_bytes_moved(-1);
  if (before < 0) GTEST_SKIP() << "the kernel does not count";
  ASSERT_EQ(::send(out.get(), "0123456789", 10, 0), 10);
  pollfd arrived{in.get(), POLLIN, 0};
  ASSERT_EQ(::poll(&arrived, 1, 5000), 1);
  EXPECT_GE(tcp_bytes_moved(-1), before + 10);
  EXPECT_LT(tcp_bytes_moved(in.get()), tcp_bytes_moved(-1));
}

// Rule 25: a rank that compiles for minutes on its only thread is heard all the same.
TEST_F(ControlTest, rule_25_HeartbeatsDoNotNeedTheThreadOfTheRank) {
  serve(1, {.silent_s = 0.3});
  const auto client = join(0).value();
  client->set_work("compiling", 0, 0);
  for (int i = 0; i < 20; ++i) {
    system_clock().sleep(0.05);
    EXPECT_FALSE(server_->is_silent(0));
  }
  EXPECT_EQ(server_->progress(0).work, "compiling");
  client->leave();
}

// Runs f(world) on a thread for each rank of one host but the last `absent`. Their control plane is at the port.
void on_ranks(int ranks, int port, const std::function<void(const World&)>& f, int absent = 0) {
  on_threads(ranks - absent, [&](int rank) {
    f({.rank = rank, .ranks = ranks, .host = "h", .address = "localhost", .port = port});
  });
}

// Nothing is known of a process that died before it joined.
TEST_F(ControlTest, ARankThatDoesNotJoinInTimeIsNamed) {
  const int port = listen_at(0, true)->port;
  std::vector<std::string> errors(3);
  const auto join = [&](const World& world) {
    const auto control = Control::open(world, {{"program", "p"}}, 2);
    ASSERT_FALSE(control.ok());
    errors[static_cast<size_t>(world.rank)] = control.error().what();
  };
  on_ranks(3, port, join, 1);
  EXPECT_THAT(errors, ::testing::Contains(HasSubstr("1 of 3 ranks have not joined within")));
  EXPECT_THAT(errors, ::testing::Contains(HasSubstr("rank 2: has not joined")));
}

TEST_F(ControlTest, RankZeroServesWithoutALauncher) {
  const int port = listen_at(0, true)->port;
  on_ranks(3, port, [&](const World& world) {
    const auto control = Control::open(world, {{"program", "p"}}, 20);
    ASSERT_TRUE(control.ok()) << control.error().text();
    EXPECT_EQ((*control)->client().gather("x", std::to_string(world.rank)).value(),
              (std::vector<std::string>{"0", "1", "2"}));
    EXPECT_TRUE((*control)->end(Ok{}).ok());
  });
}

TEST_F(ControlTest, TheErrorOfARankTakesPrecedenceOverThoseThatFollow) {
  const int port = listen_at(0, true)->port;
  std::vector<std::string> ends(3);
  on_ranks(3, port, [&](const World& world) {
    const int rank = world.rank;
    const auto control = Control::open(world, {}, 20).value();
    if (rank == 2) system_clock().sleep(0.1);
    const Error own(err::kControlMessage, rank == 2 ? "the disk is full" : "a peer is lost");
    ends[static_cast<size_t>(rank)] =
        control->end(own, rank != 2 ? Control::Cause::follows : Control::Cause::own).error().what();
  });
  EXPECT_THAT(ends, ElementsAre(HasSubstr("rank 2 on host h failed first"),
                                HasSubstr("rank 2 on host h failed first"), "the disk is full"));
}

// The rank that hears of it may be the first to end.
TEST_F(ControlTest, AnErrorThatWasToldBelongsToTheRankThatTells) {
  const int port = listen_at(0, true)->port;
  std::vector<int> first(2, -1);
  on_ranks(2, port, [&](const World& world) {
    const int rank = world.rank;
    const auto control = Control::open(world, {}, 20).value();
    if (rank == 1) system_clock().sleep(0.1);
    const Status ended = control->end(Error(err::kControlMessage, "the disk is full"),
                                      rank == 0 ? Control::Cause::told : Control::Cause::own);
    EXPECT_EQ(ended.error().what(), std::string("the disk is full"));
    for (int i = 0; i < 1000 && !control->client().first_failure(); ++i) system_clock().sleep(0.01);
    if (const auto failure = control->client().first_failure())
      first[static_cast<size_t>(rank)] = failure->rank;
  });
  EXPECT_THAT(first, ElementsAre(1, 1));
}

TEST(LocalKeyValues, WaitsForValues) {
  LocalKeyValues values;
  EXPECT_TRUE(values.get("a", 0.01).error().is(err::kRanksMissing));
  std::thread setter([&] { EXPECT_TRUE(values.set("a", "b").ok()); });
  EXPECT_EQ(values.get("a").value(), "b");
  setter.join();
}

}  // namespace
}  // namespace hone
