// The ranks of one membership: those that joined, their present work, the missing, the first error.
// Holds no connection and reads no clock: `now` is in seconds of one.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ranks/rank_status.h"

namespace hone {

struct ControlTimes {
  double silent_s = 5;  // without a heartbeat, after which a rank is called silent
  double grace_s =
      1;  // in which a rank's own error takes precedence over those that follow from it
  double report_s =
      3;  // of a wait, after which missing ranks are reported; then at three times this, ...
  double stuck_s = 60;  // in which no byte moves while all ranks wait in one collective
};

// Ranks that wait for others.
struct Wait {
  std::string place = {};  // "the start", "'all_reduce ...'"
  double since_s = 0;
  int waiting = 0;
  std::vector<MissingRank> missing = {};
  double heard_s =
      0;  // seconds since a waiting rank was heard last; it may have stopped waiting since
};

class Members {
 public:
  Members(int ranks, ControlTimes times);

  struct Join {
    int rank = 0;
    std::string host = {};
    Json facts = Json::object();  // texts by name, which must be those of rank 0
  };
  struct JoinAnswer {
    int64_t connection;
    std::optional<Error> refused;
  };
  // The answers that are now known: a rank is answered when rank 0 is there. Errors: H0122 it differs
  // from rank 0, which becomes its failure; H0123 the number is not one of this run, or is taken;
  // H0124 the rank of this number has ended.
  std::vector<JoinAnswer> join(const Join& join, int64_t connection, double now);

  void beat(int rank, RankProgress progress, double now);
  void leave(int rank, double now);  // it has finished
  void lose(int rank, double now);   // its connection ended: H0130, unless its own error comes
  void fail(RankFailure failure, double now);
  // Call it at least once a second. Error H0131: no byte moves while all ranks wait in one collective.
  void tick(double now);

  int ranks() const { return static_cast<int>(members_.size()); }
  const std::string& host(int rank) const { return at(rank).host; }
  // The progress at `now`.
  RankProgress progress(int rank, double now) const;
  bool is_silent(int rank, double now) const;
  bool has_come(int rank) const { return at(rank).presence != Presence::kAbsent; }
  bool have_all_joined() const;
  bool have_all_ended() const;  // finished or lost, or they never came
  const std::optional<RankFailure>& first_failure() const { return first_; }

  // The ranks that are not `there`.
  std::vector<MissingRank> missing(const std::function<bool(int rank)>& there, double now) const;
  // The ranks that have not reached this collective.
  std::vector<MissingRank> missing_at(int64_t collective, double now) const;
  // Lines about the ranks whose steps compute longer than those of the others, by rank.
  std::map<int, std::string> slow_ranks() const;
  // The ranks that wait for others to join or to reach a collective.
  std::vector<Wait> waits(double now) const;

 private:
  enum class Presence { kAbsent, kAsked, kHere, kLeft, kLost };
  struct Member {
    Presence presence = Presence::kAbsent;
    std::string host = {};
    Json facts = Json::object();
    int64_t connection = 0;
    // Times of the last heartbeat, of its end, and of the end of its connection without one.
    double heard = 0, left = 0, lost = 0;
    double moved = 0;  // time at which the last byte moved, or its wait began
    RankProgress progress = {};
  };
  const Member& at(int rank) const;
  Member& at(int rank) { return const_cast<Member&>(std::as_const(*this).at(rank)); }
  JoinAnswer answer(int rank, double now);
  std::string doing(int rank, double now) const;
  // All ranks wait in one collective, and no byte moves between them.
  bool are_stuck(double now) const;
  void fail_stuck(double now);
  Wait start_wait(double now) const;
  Wait collective_wait(double now) const;

  ControlTimes times_;
  std::vector<Member> members_;
  double first_join_ = 0;
  std::optional<RankFailure> first_, candidate_;  // the candidate becomes the first after the grace
  double candidate_time_ = 0;
};

}  // namespace hone
