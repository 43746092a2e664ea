// Serves the control plane of a run over TCP. The launcher or rank 0 has one.
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
  bool loopback = true;  // for processes of this host alone; without a token it must be
  int port = 0;          // 0: the kernel chooses one
  Clock* clock = &system_clock();
  // Gets lines about missing, silent and slow ranks, on a thread of the server.
  std::function<void(const std::string& line)> say = {};
};

class ControlServer {
 public:
  // Serves until it is destroyed. Errors: H0127 the port cannot be used; H0123 other hosts may
  // connect, and there is no token.
  static Result<std::unique_ptr<ControlServer>> open(ServeOptions options);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  int port() const;
  // Begins the next membership, of this number of ranks; the present ranks are refused from now on.
  void begin_epoch(int ranks);
  int64_t epoch() const;
  // Asks all ranks to stop, as by SIGTERM or SIGINT: for those that signals do not reach.
  void stop(int signal);
  // Reports a failure that the launcher sees, such as a process that was killed.
  void fail(RankFailure failure);
  std::optional<RankFailure> first_failure() const;
  RankProgress progress(int rank) const;
  bool is_silent(int rank) const;
  // Waits until each rank has finished or is lost; false: that took longer.
  bool wait_for_ranks(double patience_s) const;
  // The launchers of other machines that wait for a place (machines.h).
  std::vector<WaitingMachine> waiting_machines() const;
  void place_machines(const std::vector<MachinePlace>& places);
  void end_machines(int status);  // tells them that the run has ended
  // The ranks that have not reached this collective, with their present work.
  std::vector<MissingRank> missing_at(int64_t collective) const;

 private:
  struct Serving;
  explicit ControlServer(std::unique_ptr<Serving> serving);
  std::unique_ptr<Serving> serving_;
};

}  // namespace hone
