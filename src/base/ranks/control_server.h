// Serves the control plane of a run (control.h) over TCP. It runs in the launcher or in rank 0.
//
//   const auto server = HONE_TRY(ControlServer::open({.state = {.ranks = 4, .token = token}}));
//   ... start ranks with MASTER_PORT=<server->port()>
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/ranks/control_state.h"

namespace hone {

struct ServeOptions {
  ControlOptions state = {};
  // True: only processes of this host can connect. It must be true if there is no token.
  bool loopback = true;
  int port = 0;                    // the TCP port; 0: the kernel chooses one
  Clock* clock = &system_clock();  // not owned
  // Receives lines for the user about missing, silent and slow ranks. Called on a thread of the server. Empty: the
  // lines are dropped.
  std::function<void(const std::string& line)> say = {};
};

class ControlServer {
 public:
  // Serves until the object is destroyed. Errors: H0127 the port cannot be used; H0123 `loopback` is false and there is
  // no token.
  static Result<std::unique_ptr<ControlServer>> open(ServeOptions options);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  int port() const;
  // Begins the next membership with this number of ranks. A membership is one start of all ranks together. The server
  // refuses ranks of the former membership from now on. Memberships are numbered; `epoch` is the number.
  void begin_epoch(int ranks);
  int64_t epoch() const;  // the number of the current membership
  // Asks all ranks of the current membership to stop as if they had received this signal, SIGTERM or SIGINT. The
  // request also reaches ranks on other hosts, to which the launcher cannot send signals.
  void stop(int signal);
  // Records a failure that the launcher has noticed, such as a process that was killed.
  void fail(RankFailure failure);
  std::optional<RankFailure> first_failure() const;  // nullopt: none
  // The progress from the rank's last heartbeat; RankProgress::since_s is counted up to now.
  RankProgress progress(int rank) const;
  bool is_silent(int rank) const;  // no heartbeat for ControlTimes::silent_s
  // Waits until each rank that has joined has finished or is lost. Returns false if that takes longer than `patience_s`
  // seconds.
  bool wait_for_ranks(double patience_s) const;
  // The launchers of other machines that wait for the next membership (machines.h).
  std::vector<WaitingMachine> waiting_machines() const;
  // Sends to each waiting launcher its place: the ranks that the launcher starts. A launcher without an element in
  // `places` continues to wait.
  void place_machines(const std::vector<MachinePlace>& places);
  // Tells each waiting launcher that the run has ended with this exit status.
  void end_machines(int status);
  // The ranks that have not reached this collective (control_client.h), with their present work.
  std::vector<MissingRank> missing_at(int64_t collective) const;

 private:
  struct Serving;
  explicit ControlServer(std::unique_ptr<Serving> serving);
  std::unique_ptr<Serving> serving_;
};

}  // namespace hone
