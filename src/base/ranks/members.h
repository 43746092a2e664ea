// The ranks of one membership of a run (World::epoch) as the control plane's server sees them: which have joined, what
// they do, which are missing, and the first error. Members has no connections and no clock: `now` is the time in
// seconds of the caller's clock, and a connection is a number that the caller chooses.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ranks/rank_status.h"

namespace hone {

// Time limits in seconds.
struct ControlTimes {
  double silent_s = 5;  // a rank without a heartbeat for this time is silent
  // After an error that follows from the end of another rank, the time to wait for that rank's own error, which takes
  // precedence.
  double grace_s = 1;
  // Missing ranks are reported after other ranks have waited for this time, then after 3, 9, 27 ... times this time.
  double report_s = 3;
  // Ranks are stuck if all wait in one collective and no byte moves between them for this time.
  double stuck_s = 60;
};

// Ranks that wait for other ranks.
struct Wait {
  std::string place = {};                 // where they wait: "the start", "'all_reduce ...'"
  double since_s = 0;                     // how long the first of them has waited, in seconds
  int waiting = 0;                        // the number of ranks that wait
  std::vector<MissingRank> missing = {};  // the ranks for which they wait
  // The time in seconds since the latest heartbeat of any waiting rank. The ranks may have stopped waiting since then.
  double heard_s = 0;
};

class Members {
 public:
  Members(int ranks, ControlTimes times);

  // The request of a rank to join.
  struct Join {
    int rank = 0;
    std::string host = {};
    Json facts = Json::object();  // texts by name, which must equal those of rank 0
  };
  struct JoinAnswer {
    int64_t connection;            // the connection of the request
    std::optional<Error> refused;  // nullopt: the rank has joined
  };
  // Handles a request to join. Returns the answers that are now known, to this request and to earlier ones. Requests
  // are answered only after rank 0 has asked to join. JoinAnswer::refused: H0122 the facts differ from those of rank 0
  // (this is also the failure of the rank); H0123 the run has no such rank, or it has joined already; H0124 the rank
  // has ended.
  std::vector<JoinAnswer> join(const Join& join, int64_t connection, double now);

  void beat(int rank, RankProgress progress, double now);  // a heartbeat has come
  void leave(int rank, double now);                        // the rank has finished
  // The rank's connection has ended. Unless the rank has finished or reports its own error, this is failure H0130.
  void lose(int rank, double now);
  void fail(RankFailure failure, double now);  // the rank has failed
  // Call it at least once a second. Records failure H0131 if all ranks wait in one collective and no byte moves between
  // them (ControlTimes::stuck_s).
  void tick(double now);

  int ranks() const { return static_cast<int>(members_.size()); }
  const std::string& host(int rank) const { return at(rank).host; }
  // The progress from the last heartbeat, with since_s counted up to `now`.
  RankProgress progress(int rank, double now) const;
  bool is_silent(int rank, double now) const;  // no heartbeat for ControlTimes::silent_s
  bool has_come(int rank) const { return at(rank).presence != Presence::kAbsent; }
  bool have_all_joined() const;
  bool have_all_ended() const;  // each rank has finished, is lost, or never came
  const std::optional<RankFailure>& first_failure() const { return first_; }  // nullopt: none

  // The ranks for which `there` returns false.
  std::vector<MissingRank> missing(const std::function<bool(int rank)>& there, double now) const;
  // The ranks that have not reached this collective (control_client.h).
  std::vector<MissingRank> missing_at(int64_t collective, double now) const;
  // Lines for the user, by rank. A rank has a line if its median step time is at least 1.2 times that of the median
  // rank and at least 5 ms longer. Empty until each rank has 16 timed steps.
  std::map<int, std::string> slow_ranks() const;
  // The waits for ranks that have not joined, and for ranks that have not reached a collective.
  std::vector<Wait> waits(double now) const;

 private:
  // kAbsent: has not come. kAsked: has asked to join. kHere: has joined. kLeft: has finished. kLost: was lost.
  enum class Presence { kAbsent, kAsked, kHere, kLeft, kLost };
  struct Member {
    Presence presence = Presence::kAbsent;
    std::string host = {};
    Json facts = Json::object();
    int64_t connection = 0;
    // Times. heard: of the last heartbeat. left: when it finished. lost: when it was lost.
    double heard = 0, left = 0, lost = 0;
    // The time of the last heartbeat with progress: no wait, a new collective, or moved bytes.
    double moved = 0;
    RankProgress progress = {};
  };
  const Member& at(int rank) const;
  Member& at(int rank) { return const_cast<Member&>(std::as_const(*this).at(rank)); }
  JoinAnswer answer(int rank, double now);
  std::string doing(int rank, double now) const;
  // Returns true if all ranks wait in one collective and no byte moves between them.
  bool are_stuck(double now) const;
  void fail_stuck(double now);
  Wait start_wait(double now) const;
  Wait collective_wait(double now) const;

  ControlTimes times_;
  std::vector<Member> members_;
  double first_join_ = 0;
  std::optional<RankFailure> first_, candidate_;  // candidate_ becomes first_ after grace_s
  double candidate_time_ = 0;                     // the time at which candidate_ was set
};

}  // namespace hone
