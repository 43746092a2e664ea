// The control plane of a run as answers to messages, without connections, threads and clocks:
// membership, keys and their values, meetings, missing ranks, the first error.
//
// Messages of a rank (member `do` of the head) and their answers:
//   join {token, epoch, rank, ranks, host, facts}   welcome, or refused and the end of the connection
//   beat {progress}                                 heard
//   set {key} value                                 -
//   get {key, id}                                   value {id} bytes, when the key is set
//   forget {id}                                     -      the answer is no longer awaited
//   meet {name, id} bytes                           met {id, sizes} bytes, when all have come
//   missing {collective, id}                        missing {id, ranks: [{rank, host, doing}]}
//   times {id}                                      times {id, ranks: [{rank, host, progress}]}
//   fail {follows, progress} report                 -
//   leave                                           -
// A launcher of another host reports over a connection of its own:
//   report {token, epoch, rank, host, progress} report    heard, and the end of the connection
// It keeps one while its ranks run, so that they are not waited for if it is lost before they join:
//   machine {token, machine, slots, host}                 place {...}, when the next membership begins,
//                                                         or over {status} and the end of the connection
//   ended                                                 heard, and the end of the connection
// Sent to all ranks: failed {rank, host, progress} report, once; stop {signal}, a request to stop;
// epoch {epoch}, when a new membership begins.
#pragma once

#include <map>
#include <set>

#include "base/ranks/frame.h"
#include "base/ranks/machines.h"
#include "base/ranks/meetings.h"
#include "base/ranks/members.h"

namespace hone {

struct ControlOptions {
  int ranks = 1;
  int64_t epoch = 1;
  std::string token = {};
  ControlTimes times = {};
};

class ControlState {
 public:
  explicit ControlState(ControlOptions options);

  struct Out {
    int64_t connection;
    Frame frame;
    bool last = false;  // the connection ends after it
  };
  // Answers to a message, a connection that ended, and the time: call tick() at least once a second.
  std::vector<Out> receive(int64_t connection, const Frame& frame, double now);
  std::vector<Out> closed(int64_t connection, double now);
  std::vector<Out> tick(double now);

  // Begins a new membership: ranks of the earlier one are refused from now on, its keys are gone.
  std::vector<Out> begin_epoch(int ranks);
  // Asks all ranks to stop, as by this signal; ranks that join later too.
  std::vector<Out> stop(int signal);
  // As if the rank had sent it.
  std::vector<Out> fail(RankFailure failure, double now);

  // The launchers of other machines that wait for the next membership, in the order of their arrival.
  const std::vector<WaitingMachine>& machines() const { return machines_; }
  // Answers them; those that get no place stay.
  std::vector<Out> place_machines(const std::vector<MachinePlace>& places);
  // Tells them that the run has ended with this exit status.
  std::vector<Out> end_machines(int status);

  bool has_joined(int64_t connection) const { return ranks_.contains(connection); }
  bool waits_for_place(int64_t connection) const;
  // Whether a launcher with a place in this membership keeps it.
  bool keeps_place(int64_t connection) const { return placed_.contains(connection); }
  int64_t epoch() const { return options_.epoch; }
  const Members& members() const { return members_; }
  // Lines about missing, silent and slow ranks that are due; each is returned once.
  std::vector<std::string> due_reports(double now);

 private:
  std::vector<Out> join(int64_t connection, const Json& head, double now);
  std::vector<Out> report(int64_t connection, const Frame& frame, double now);
  std::vector<Out> add_machine(int64_t connection, const Json& head);
  std::vector<Out> set(int64_t connection, const std::string& key, const std::string& value);
  std::vector<Out> get(int64_t connection, const std::string& key, int64_t id);
  std::vector<Out> meet(int64_t connection, int rank, const Frame& frame, double now);
  std::vector<Out> missing(int64_t connection, const Json& head, double now) const;
  std::vector<Out> times(int64_t connection, int64_t id, double now) const;
  // Ranks that wait for one that has finished would wait for ever: that is a failure.
  void end_hopeless_waits(double now);
  struct Placed {
    int first_rank = 0, slots = 0;
    std::string host = {};
  };
  // The launcher of these ranks is gone.
  void lose_machine(const Placed& placed, double now);
  // Sent once, when the first error is known.
  void announce_failure(std::vector<Out>& out);
  std::vector<Wait> waits(double now) const;

  ControlOptions options_;
  Members members_;
  Meetings meetings_;
  std::map<int64_t, int> ranks_;  // of connections that asked to join this epoch
  std::map<std::string, std::string> values_;
  size_t value_bytes_ = 0;
  std::map<std::string, std::set<std::pair<int64_t, int64_t>>>
      waiting_;  // connections and ids by key
  std::vector<WaitingMachine> machines_;
  std::map<int64_t, Placed> placed_;  // by connection
  bool announced_ = false;
  int stop_signal_ = 0;  // 0: no request
  struct Report {
    double next_s = 0;   // age of the wait at which it is due
    double started = 0;  // time at which the wait began
  };
  std::map<std::string, Report> reports_;  // by place
  std::set<int> silent_, slow_;            // reported
};

}  // namespace hone
