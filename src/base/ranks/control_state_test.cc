#include "base/ranks/control_state.h"

#include <gmock/gmock.h>

#include "base/core/error_report.h"
#include "base/ranks/errors.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A run whose ranks are connections 100, 101, ...
class ControlStateTest : public ::testing::Test {
 protected:
  explicit ControlStateTest(int ranks = 3) : state_({.ranks = ranks, .token = "secret"}) {}

  std::vector<ControlState::Out> send(int rank, Json head, const std::string& body = "") {
    return keep(state_.receive(100 + rank, {std::move(head), body}, now_));
  }
  std::vector<ControlState::Out> join(int rank, Json changed = Json::object()) {
    Json head = {{"do", "join"},
                 {"token", "secret"},
                 {"epoch", state_.epoch()},
                 {"rank", rank},
                 {"ranks", state_.members().ranks()},
                 {"host", fmt::format("h{}", rank)},
                 {"facts", {{"program", "p1"}}}};
    head.update(changed);
    return send(rank, head);
  }
  void join_all() {
    for (int rank = 0; rank < state_.members().ranks(); ++rank) join(rank);
    sent_.clear();
  }
  // A heartbeat.
  void beat(int rank, RankProgress progress) {
    Json head = progress_json(progress);
    head["do"] = "beat";
    send(rank, head);
  }
  // Time passes; ranks that `beat` says send heartbeats.
  void pass(double seconds) {
    now_ += seconds;
    keep(state_.tick(now_));
  }
  std::vector<ControlState::Out> keep(std::vector<ControlState::Out> out) {
    for (const ControlState::Out& o : out)
      if (text_at(o.frame.head, "do") != "heard")
        sent_.push_back(fmt::format("{} {}", o.connection - 100, text_at(o.frame.head, "do")));
    return out;
  }
  static std::string refusal(const std::vector<ControlState::Out>& out) {
    if (out.size() != 1 || text_at(out[0].frame.head, "do") != "refused") return "not refused";
    EXPECT_TRUE(out[0].last);
    const Error error = reported_error(out[0].frame.body).value();
    return fmt::format("{} {}", error.code(), error.what());
  }
  std::string first() const {
    const auto& failure = state_.members().first_failure();
    return failure ? failure->sentence() : "";
  }
  Error own_error() const { return Error(err::kControlMessage, "the disk is full"); }
  void fail(int rank, const Error& error, bool follows) {
    Json head = failure_json({rank, "", {.step = 7}, error, follows});
    head["do"] = "fail";
    send(rank, head, report_line(error));
  }

  ControlState state_;
  double now_ = 50;
  std::vector<std::string> sent_;
};

TEST_F(ControlStateTest, RanksAreWelcomeWhenRankZeroIsThere) {
  join(2);
  EXPECT_THAT(sent_, IsEmpty());
  join(0);
  join(1);
  EXPECT_THAT(sent_, ElementsAre("0 welcome", "2 welcome", "1 welcome"));
}

TEST_F(ControlStateTest, AWrongTokenIsRefused) {
  EXPECT_EQ(refusal(join(1, {{"token", "secreT"}})),
            "H0123 a rank may not join: its token is not that of the run");
  EXPECT_THAT(refusal(join(1, {{"token", ""}})), HasSubstr("H0123"));
  EXPECT_THAT(refusal(join(1, {{"token", "secretsecret"}})), HasSubstr("H0123"));
  EXPECT_THAT(refusal(send(1, {{"do", "set"}, {"key", "a"}})), HasSubstr("H0124"));
  EXPECT_EQ(first(), "");
}

TEST_F(ControlStateTest, ANumberThatIsTakenOrTooLargeIsRefused) {
  join_all();
  EXPECT_EQ(refusal(keep(state_.receive(200,
                                        {{{"do", "join"},
                                          {"token", "secret"},
                                          {"epoch", 1},
                                          {"rank", 2},
                                          {"ranks", 3},
                                          {"host", "x"}}},
                                        now_))),
            "H0123 rank 2 on host x may not join: rank 2 on host h2 has joined already");
  EXPECT_EQ(
      refusal(join(1, {{"ranks", 4}})),
      "H0123 rank 1 on host h1 may not join: it was started as one of 4 ranks, and the run has 3");
  EXPECT_THAT(refusal(join(3)), HasSubstr("H0123"));
  EXPECT_THAT(refusal(join(-1)), HasSubstr("H0123"));
}

// Rank 0's facts count, also if others come first.
TEST_F(ControlStateTest, ARankWithAnotherProgramIsRefusedByName) {
  join(1, {{"facts", {{"program", "p2"}, {"data", "d"}}}});
  const auto out = join(0);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(refusal({out[1]}),
            "H0122 rank 1 on host h1 differs from rank 0 on host h0: data 'd' instead of none; "
            "program 'p2' instead of 'p1'");
  EXPECT_EQ(out[1].connection, 101);
  EXPECT_THAT(sent_, ElementsAre("0 welcome", "1 refused", "0 failed"));
  EXPECT_THAT(first(), HasSubstr("rank 1 on host h1 failed first before the first step: H0122"));
}

TEST_F(ControlStateTest, AStaleEpochIsRefused) {
  join_all();
  EXPECT_EQ(keep(state_.begin_epoch(2)).size(), 3u);
  EXPECT_THAT(sent_, ElementsAre("0 epoch", "1 epoch", "2 epoch"));
  EXPECT_THAT(refusal(send(0, {{"do", "set"}, {"key", "a"}})), HasSubstr("H0124"));
  EXPECT_EQ(refusal(join(1, {{"epoch", 1}})),
            "H0124 rank 1 on host h1 may not join: it belongs to membership 1, and this is 2");
  sent_.clear();
  join(0);
  join(1);
  EXPECT_THAT(sent_, ElementsAre("0 welcome", "1 welcome"));
}

TEST_F(ControlStateTest, KeysAreWaitedFor) {
  join_all();
  send(0, {{"do", "get"}, {"key", "a"}, {"id", 5}});
  send(1, {{"do", "get"}, {"key", "a"}, {"id", 6}});
  send(1, {{"do", "forget"}, {"id", 6}});
  EXPECT_THAT(sent_, IsEmpty());
  const auto out = send(2, {{"do", "set"}, {"key", "a"}}, std::string("b\0c", 3));
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].connection, 100);
  EXPECT_EQ(whole_at(out[0].frame.head, "id"), 5);
  EXPECT_EQ(out[0].frame.body, std::string("b\0c", 3));
  send(2, {{"do", "set"}, {"key", "a"}}, "new");
  EXPECT_EQ(send(1, {{"do", "get"}, {"key", "a"}, {"id", 7}})[0].frame.body, "new");
}

TEST_F(ControlStateTest, MeetingsGiveTheBytesOfAllByRank) {
  join_all();
  for (int round = 0; round < 2; ++round) {
    send(2, {{"do", "meet"}, {"name", "m"}, {"id", 1}}, "two");
    send(0, {{"do", "meet"}, {"name", "m"}, {"id", 2}}, "");
    const auto out = send(1, {{"do", "meet"}, {"name", "m"}, {"id", 3}}, "one");
    ASSERT_EQ(out.size(), 3u);
    EXPECT_EQ(out[2].connection, 102);
    EXPECT_EQ(whole_at(out[2].frame.head, "id"), 1);
    EXPECT_EQ(out[2].frame.body, "onetwo");
    EXPECT_EQ(out[2].frame.head["sizes"], Json({0, 3, 3}));
  }
}

TEST_F(ControlStateTest, AMissingRankIsNamedWithHostNodeAndWork) {
  join_all();
  pass(1);
  beat(0, {.step = 4, .collective = 9, .node = "all_reduce of h.0.w", .waiting = true});
  beat(1, {.step = 4, .collective = 9, .node = "all_reduce of h.0.w", .waiting = true});
  beat(2, {.step = 4, .collective = 8, .work = "evaluation", .work_done = 3, .work_total = 9});
  EXPECT_THAT(state_.due_reports(now_), IsEmpty());
  for (int second = 0; second < 3; ++second) {
    pass(1);
    for (const int rank : {0, 1})
      beat(rank, {.step = 4,
                  .collective = 9,
                  .node = "all_reduce of h.0.w",
                  .waiting = true,
                  .since_s = second + 1.0});
    beat(2, {.step = 4,
             .collective = 8,
             .work = "evaluation",
             .work_done = 4,
             .work_total = 9,
             .since_s = second + 1.0});
  }
  const auto lines = state_.due_reports(now_);
  EXPECT_THAT(lines,
              ElementsAre("2 of 3 ranks wait at 'all_reduce of h.0.w' for 3s: rank 2 on host h2: "
                          "evaluation, 4 of 9, for 3s, at step 4"));
  EXPECT_THAT(state_.due_reports(now_), IsEmpty());  // each once
  const auto out = send(0, {{"do", "missing"}, {"collective", 9}, {"id", 1}});
  EXPECT_EQ(
      out[0].frame.head["ranks"],
      Json::array(
          {{{"rank", 2}, {"host", "h2"}, {"doing", "evaluation, 4 of 9, for 3s, at step 4"}}}));
}

// Work of a host that others wait for, for two hours: named now and then, and never a failure.
TEST_F(ControlStateTest, HostWorkOfAnyLengthIsNotATimeout) {
  join_all();
  size_t reports = 0;
  for (int second = 0; second < 7200; ++second) {
    pass(1);
    for (const int rank : {1, 2})
      beat(rank,
           {.step = 4, .collective = 9, .node = "x", .waiting = true, .since_s = second + 1.0});
    beat(0, {.step = 4,
             .collective = 8,
             .work = "tokenizing",
             .work_done = second,
             .since_s = second + 1.0});
    reports += state_.due_reports(now_).size();
  }
  EXPECT_EQ(first(), "");
  EXPECT_EQ(reports, 8u);  // after 3, 9, 27, ... seconds
}

// A process that is stopped (SIGSTOP) sends nothing, and its host keeps the connection.
TEST_F(ControlStateTest, AStoppedRankIsNamedAsSilentAndSurvives) {
  join_all();
  std::vector<std::string> lines;
  for (int second = 0; second < 120; ++second) {
    pass(1);
    for (const int rank : {1, 2})
      beat(rank,
           {.step = 4, .collective = 9, .node = "x", .waiting = true, .since_s = second + 1.0});
    for (const std::string& line : state_.due_reports(now_)) lines.push_back(line);
  }
  ASSERT_GE(lines.size(), 2u);
  EXPECT_THAT(lines[0], HasSubstr("wait at 'x' for 3s: rank 0 on host h0: computes"));
  EXPECT_EQ(lines[1],
            "rank 0 on host h0: is silent for 5s: computes, for 5s, before the first step");
  EXPECT_EQ(first(), "");
  beat(0, {.step = 4, .collective = 9, .node = "x"});
  EXPECT_THAT(state_.members().missing_at(9, now_), IsEmpty());
}

TEST_F(ControlStateTest, ADeadRankIsNamedWithinASecond) {
  join_all();
  keep(state_.closed(102, now_));
  EXPECT_EQ(first(), "");  // its own error may be on the way
  pass(1);
  EXPECT_EQ(first(),
            "rank 2 on host h2 failed first before the first step: H0130 rank 2 on host h2 "
            "ended without an error: its connection ended");
  EXPECT_THAT(sent_, ElementsAre("0 failed", "1 failed"));
  EXPECT_EQ(
      refusal(join(2)),
      "H0124 rank 2 on host h2 may not join: the rank of this number has ended in this membership");
}

TEST_F(ControlStateTest, TheFirstErrorWins) {
  join_all();
  fail(2, own_error(), false);
  fail(1, Error(err::kControlLost, "later"), false);
  EXPECT_EQ(first(), "rank 2 on host h2 failed first at step 7: H0128 the disk is full");
  EXPECT_THAT(sent_, ElementsAre("0 failed", "1 failed", "2 failed"));
}

// The peers of a rank that dies see closed connections before anybody sees its own error.
TEST_F(ControlStateTest, AnErrorThatFollowsFromAnotherIsNotTheFirst) {
  join_all();
  fail(0, Error(err::kControlLost, "connection reset by peer"), true);
  keep(state_.closed(102, now_));
  EXPECT_EQ(first(), "");
  pass(0.5);
  keep(state_.fail({2, "h2", {}, Error(err::kRankLost, "x").todo("y"), true}, now_));
  keep(state_.fail({2, "h2", {}, own_error(), false}, now_));
  EXPECT_THAT(first(), HasSubstr("rank 2 on host h2"));
  EXPECT_THAT(first(), HasSubstr("the disk is full"));
}

TEST_F(ControlStateTest, AnErrorThatFollowsCountsIfThereIsNoOther) {
  join_all();
  fail(0, Error(err::kControlLost, "connection reset by peer"), true);
  pass(1);
  EXPECT_THAT(first(), HasSubstr("rank 0 on host h0 failed first at step 7: H0125"));
}

TEST_F(ControlStateTest, WaitingForARankThatHasEndedIsAFailure) {
  join_all();
  send(2, {{"do", "leave"}});
  keep(state_.closed(102, now_));
  send(0, {{"do", "meet"}, {"name", "results"}, {"id", 2}});
  pass(1);
  pass(1);
  EXPECT_THAT(first(),
              HasSubstr("rank 2 on host h2 has ended, and 1 of 3 ranks wait for it at 'results'"));
}

// The last heartbeat of a rank is of a wait that has ended since, in which the rank met the one that has ended.
TEST_F(ControlStateTest, AnOldHeartbeatOfAWaitIsNoFailure) {
  join_all();
  const Json waits = {{"do", "beat"}, {"collective", 3}, {"node", "results"}, {"waiting", true}};
  for (int rank = 0; rank < 3; ++rank) send(rank, waits);
  send(2, {{"do", "leave"}});
  keep(state_.closed(102, now_));
  pass(2.5);
  EXPECT_EQ(first(), "");
  send(0, waits);  // it does wait
  pass(1);
  EXPECT_THAT(first(), HasSubstr("rank 2 on host h2 has ended"));
}

TEST_F(ControlStateTest, ARankThatJoinsAfterAFailureHearsOfIt) {
  join(0);
  join(1);
  fail(1, own_error(), false);
  sent_.clear();
  join(2);
  EXPECT_THAT(sent_, ElementsAre("2 welcome", "2 failed"));
}

TEST_F(ControlStateTest, ARankHearsThatRankZeroDiedBeforeItJoined) {
  keep(state_.fail({0, "h0", {}, Error(err::kControlMessage, "killed"), false}, now_));
  join(1);
  EXPECT_THAT(sent_, ElementsAre("1 failed"));
}

TEST_F(ControlStateTest, SaysWhoHasNotJoined) {
  join(0);
  join(2);
  pass(3);
  EXPECT_THAT(state_.due_reports(now_),
              ElementsAre("2 of 3 ranks wait at the start for 3s: rank 1: has not joined"));
}

// Rule 22 of the pains of many ranks: the slow rank is known by name.
TEST_F(ControlStateTest, rule_22_ASlowRankIsNamedOnce) {
  join_all();
  const auto beats = [&](double slowest_s) {
    for (const int rank : {0, 1, 2})
      beat(rank, {.step = 40,
                  .timed_steps = 32,
                  .busy_p50_s = rank == 2 ? slowest_s : 1.0 + rank / 100.0,
                  .busy_p99_s = 2});
    return state_.due_reports(now_);
  };
  EXPECT_THAT(beats(1.15), IsEmpty());
  EXPECT_THAT(beats(1.3),
              ElementsAre("rank 2 on host h2 is slow: its steps compute for 1.3 s (p99 2 s), 1.29 "
                          "times the 1.01 s of the median rank"));
  EXPECT_THAT(beats(1.3), IsEmpty());
  EXPECT_THAT(beats(1.0), IsEmpty());
  EXPECT_THAT(beats(1.5), ElementsAre(HasSubstr("rank 2 on host h2 is slow")));
}

// A link may lose large packets alone: heartbeats arrive, and tensors do not.
TEST_F(ControlStateTest, RanksBetweenWhichNoByteMovesAreStuck) {
  join_all();
  const auto wait = [&](int seconds, int64_t moved_of_rank_1) {
    for (int k = 0; k < seconds; ++k) {
      pass(1);
      for (const int rank : {0, 1, 2})
        beat(rank, {.step = 4,
                    .collective = 9,
                    .node = "all_reduce w",
                    .waiting = true,
                    .moved_bytes = rank == 0   ? 100 + k  // writes to a server of metrics
                                   : rank == 1 ? moved_of_rank_1 + k
                                               : 7});
    }
  };
  wait(70, 1000);
  EXPECT_EQ(first(), "");  // ranks 0 and 1 exchange messages
  const auto no_more = [&](int seconds) {
    for (int k = 0; k < seconds; ++k) {
      pass(1);
      for (const int rank : {0, 1, 2})
        beat(rank, {.step = 4,
                    .collective = 9,
                    .node = "all_reduce w",
                    .waiting = true,
                    .moved_bytes = rank == 0 ? 5000 + k : 5000});
    }
  };
  no_more(60);
  EXPECT_EQ(first(), "");
  no_more(3);
  EXPECT_THAT(first(), HasSubstr("H0131 all 3 ranks wait at 'all_reduce w', and no byte has moved "
                                 "between them for 1m00s: hosts h0, h1, h2"));
}

TEST_F(ControlStateTest, ARankThatIsSilentIsNotStuck) {
  join_all();
  for (int k = 0; k < 100; ++k) {
    pass(1);
    for (const int rank : {0, 1})
      beat(rank, {.collective = 9, .node = "x", .waiting = true, .moved_bytes = 5});
  }
  EXPECT_EQ(first(), "");
}

TEST_F(ControlStateTest, AFewStepsNameNoSlowRank) {
  join_all();
  for (const int rank : {0, 1, 2})
    beat(rank, {.step = 3, .timed_steps = 3, .busy_p50_s = rank + 1.0, .busy_p99_s = 9});
  EXPECT_THAT(state_.due_reports(now_), IsEmpty());
}

TEST_F(ControlStateTest, MachinesWaitForTheNextMembership) {
  const auto ask = [&](int connection, int machine, const std::string& token = "secret") {
    return send(
        connection,
        {{"do", "machine"}, {"token", token}, {"machine", machine}, {"slots", 2}, {"host", "b"}});
  };
  EXPECT_THAT(refusal(ask(7, 1, "guessed")), HasSubstr("H0123"));
  EXPECT_THAT(ask(8, 1), IsEmpty());
  ask(9, 2);
  keep(state_.closed(109, now_));  // its launcher has ended
  ask(10, -1);
  ASSERT_EQ(state_.machines().size(), 2u);
  EXPECT_TRUE(state_.waits_for_place(108));
  EXPECT_EQ(state_.machines()[1].request.machine, -1);
  EXPECT_EQ(state_.machines()[1].request.slots, 2);
  keep(state_.begin_epoch(4));
  ASSERT_EQ(state_.machines().size(), 2u);
  const auto out = keep(state_.place_machines({{.connection = 108,
                                                .machine = 1,
                                                .epoch = 2,
                                                .ranks = 4,
                                                .full_ranks = 6,
                                                .first_rank = 2}}));
  ASSERT_EQ(out.size(), 1u);
  EXPECT_FALSE(out[0].last);
  EXPECT_TRUE(state_.keeps_place(108));
  EXPECT_EQ(whole_at(out[0].frame.head, "first_rank"), 2);
  EXPECT_FALSE(state_.waits_for_place(108));
  sent_.clear();
  keep(state_.end_machines(7));
  EXPECT_THAT(sent_, ElementsAre("10 over"));
  EXPECT_THAT(state_.machines(), IsEmpty());
}

TEST_F(ControlStateTest, AMachineThatIsLostBeforeItsRanksJoinIsAFailure) {
  const auto begin = [&](int connection) {
    send(connection,
         {{"do", "machine"}, {"token", "secret"}, {"machine", 1}, {"slots", 2}, {"host", "b"}});
    keep(state_.begin_epoch(3));
    keep(state_.place_machines({{.connection = connection + 100,
                                 .machine = 1,
                                 .epoch = state_.epoch(),
                                 .ranks = 3,
                                 .full_ranks = 3,
                                 .first_rank = 1}}));
  };
  begin(8);
  keep(state_.closed(108, now_));
  now_ += 5;
  keep(state_.tick(now_));
  ASSERT_TRUE(state_.members().first_failure());
  EXPECT_EQ(state_.members().first_failure()->rank, 1);
  EXPECT_TRUE(state_.members().first_failure()->error.is(err::kRankLost));

  begin(9);
  EXPECT_FALSE(state_.keeps_place(108)) << "of the membership before";
  send(9, {{"do", "ended"}});  // its ranks have ended
  EXPECT_FALSE(state_.keeps_place(109));
  keep(state_.closed(109, now_));
  now_ += 5;
  keep(state_.tick(now_));
  EXPECT_FALSE(state_.members().first_failure());
}

TEST_F(ControlStateTest, AMachineThatComesAgainReplacesItself) {
  for (const int connection : {8, 9})
    send(connection, {{"do", "machine"}, {"token", "secret"}, {"machine", 1}, {"slots", 1}});
  EXPECT_THAT(sent_, ElementsAre("8 over"));
  ASSERT_EQ(state_.machines().size(), 1u);
  EXPECT_EQ(state_.machines()[0].connection, 109);
}

TEST(RankStatus, AFailureReadsBack) {
  const Error error = Error(err::kRankLost, "gone").at("here").todo("look");
  const RankFailure failure{2, "b", {.step = 3, .node = "n", .waiting = true}, error, false};
  const RankFailure same = failure_of(failure_json(failure), report_line(error));
  EXPECT_EQ(same.sentence(), "rank 2 on host b failed first at step 3 in 'n': H0130 gone");
  EXPECT_EQ(same.to_others().text(),
            "H0129  rank 2 on host b failed first at step 3 in 'n': H0130 gone\n  at   here\n  do  "
            " look");
  EXPECT_TRUE(same.error.is_transient());
}

}  // namespace
}  // namespace hone
