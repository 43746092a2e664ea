// The logic of the control plane's server, without connections, threads and clocks, so that tests can drive it. It
// turns the messages of ranks into answers. ControlServer adds the connections.
//
// A message is a frame (frame.h). The member "do" of its head is the first word of a line below; {...} are the other
// members of the head; then comes the body. Messages of a rank, and the answers to the rank ("-": none):
//   join {token, epoch, rank, ranks, host, facts}   welcome, or refused and the end of the connection
//   beat {progress}                                 heard
//   set {key} value                                 -
//   get {key, id}                                   value {id} bytes, when the key is set
//   forget {id}                                     -, and a `get` with this id no longer waits
//   meet {name, id} bytes                           met {id, sizes} bytes, when all have come
//   missing {collective, id}                        missing {id, ranks: [{rank, host, doing}]}
//   times {id}                                      times {id, ranks: [{rank, host, progress}]}
//   fail {follows, progress} report                 -
//   leave                                           -
// A launcher of another host reports a failure of its ranks over a new connection:
//   report {token, epoch, rank, host, progress} report    heard, and the end of the connection
// A launcher of another host keeps a further connection open while its ranks run. On it, the launcher asks for a place,
// and later says that its ranks have ended. If this connection is lost before all ranks of the launcher have joined, a
// rank that is missing counts as lost:
//   machine {token, machine, slots, host}                 place {machine, epoch, ranks, full_ranks,
//                                                         first_rank}, when the next membership begins,
//                                                         or over {status} and the end of the connection
//   ended                                                 heard, and the end of the connection
// Messages to all ranks: failed {rank, host, progress} report, when the first error is known; stop {signal}, a request
// to stop; epoch {epoch}, when a new membership begins.
// `report` is the line of an error (base/core/error_report.h).
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
  int64_t epoch = 1;       // the number of the first membership (World::epoch)
  std::string token = {};  // the secret that ranks must send; "": none
  ControlTimes times = {};
};

class ControlState {
 public:
  explicit ControlState(ControlOptions options);

  // A message to send.
  struct Out {
    int64_t connection;
    Frame frame;
    bool last = false;  // close the connection after the message
  };
  // The three functions below report an event: a frame has come, a connection has ended, time has passed. They return
  // the messages to send. A connection is a number that the caller chooses; `now` is in seconds of the caller's clock.
  std::vector<Out> receive(int64_t connection, const Frame& frame, double now);
  std::vector<Out> closed(int64_t connection, double now);
  std::vector<Out> tick(double now);  // call it at least once a second

  // Begins a new membership of this number of ranks. Ranks of the former membership are refused from now on, and its
  // keys are removed.
  std::vector<Out> begin_epoch(int ranks);
  // Asks all ranks to stop as if they had received this signal. Ranks that join the membership later are asked too.
  std::vector<Out> stop(int signal);
  // Handles a failure as if the rank had reported it.
  std::vector<Out> fail(RankFailure failure, double now);

  // The launchers of other machines that wait for the next membership, in the order of their arrival.
  const std::vector<WaitingMachine>& machines() const { return machines_; }
  // Returns the messages that tell each waiting launcher its place. A launcher without an element in `places`
  // continues to wait.
  std::vector<Out> place_machines(const std::vector<MachinePlace>& places);
  // Returns the messages for the waiting launchers: the run has ended with this exit status.
  std::vector<Out> end_machines(int status);

  // The three functions below return true if the connection belongs to a rank that has asked to join, to a launcher
  // that waits for a place, and to a launcher that has a place, in this order.
  bool has_joined(int64_t connection) const { return ranks_.contains(connection); }
  bool waits_for_place(int64_t connection) const;
  bool keeps_place(int64_t connection) const { return placed_.contains(connection); }
  int64_t epoch() const { return options_.epoch; }
  const Members& members() const { return members_; }
  // Lines for the user about missing, silent and slow ranks. Each line is returned once, when it is due.
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
  // Records a failure if ranks wait for a rank that has finished, because they would wait forever.
  void end_hopeless_waits(double now);
  struct Placed {
    int first_rank = 0, slots = 0;
    std::string host = {};
  };
  // Records that the launcher of these ranks is lost.
  void lose_machine(const Placed& placed, double now);
  // Once the first error is known, appends the message `failed` for each rank. Does so once.
  void announce_failure(std::vector<Out>& out);
  std::vector<Wait> waits(double now) const;

  ControlOptions options_;
  Members members_;
  Meetings meetings_;
  std::map<int64_t, int> ranks_;  // by connection: the rank that asked to join
  std::map<std::string, std::string> values_;
  size_t value_bytes_ = 0;
  std::map<std::string, std::set<std::pair<int64_t, int64_t>>>
      waiting_;  // by key: the connection and id of each `get` that waits
  std::vector<WaitingMachine> machines_;
  std::map<int64_t, Placed> placed_;  // by connection
  bool announced_ = false;
  int stop_signal_ = 0;  // 0: no request
  struct Report {
    double next_s = 0;   // the duration of the wait at which the next line is due
    double started = 0;  // the time at which the wait began
  };
  std::map<std::string, Report> reports_;  // by Wait::place
  std::set<int> silent_, slow_;            // ranks that were reported as silent or slow
};

}  // namespace hone
