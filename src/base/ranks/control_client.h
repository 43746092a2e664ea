// A rank's side of the control plane: keys and values, meetings, its progress, errors of others.
//
//   const auto client = HONE_TRY(ControlClient::join(world, {.token = token, .facts = {...}}));
//   HONE_TRY(client->barrier("start"));
//   client->set_step(7);
//   { const HostWork work(client.get(), "evaluation", rows);  ... work.update(done); }
//   HONE_TRY(client->gather("metrics 7", dump_json(mine)));
//
// A request to stop from the launcher is as a signal to this process (base/core/signals.h). A thread of
// its own sends heartbeats with the progress, whatever the other threads do. Every wait
// ends with Error H0129 when another rank failed, H0124 when a new membership began, and H0125 when
// the control plane is lost. May be used by several threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/json.h"
#include "base/ranks/key_values.h"
#include "base/ranks/rank_status.h"
#include "base/ranks/world.h"

namespace hone {

struct JoinOptions {
  std::string token = {};
  Json facts = Json::object();  // texts by name: program, settings, data; they must equal rank 0's
  double patience_s = 600;      // until the control plane and rank 0 are there
  double heartbeat_s = 1;
  Clock* clock = &system_clock();
};

class ControlClient : public KeyValues {
 public:
  // Errors: H0125 the control plane cannot be reached, H0122, H0123, H0124 it refused this rank,
  // H0126 rank 0 has not joined, H0128 something else answers at its address, H0129 another rank failed.
  static Result<std::unique_ptr<ControlClient>> join(const World& world, JoinOptions options);
  ~ControlClient() override;

  const World& world() const;

  Status set(const std::string& key, std::string_view value) override;
  Result<std::string> get(const std::string& key, double patience_s = kNoEnd) override;
  // JSON values of at most kMostValueBytes: from one rank to all others.
  Status publish(const std::string& key, const Json& value);
  Result<Json> published(const std::string& key, double patience_s = kNoEnd);

  // Every rank calls these with the same name: gather returns the bytes of all, by rank.
  // Error H0126: not all came within `patience_s`, with the name and the work of those that did not.
  Result<std::vector<std::string>> gather(const std::string& name, std::string_view mine,
                                          double patience_s = kNoEnd);
  Status barrier(const std::string& name, double patience_s = kNoEnd);

  // Progress, sent with the next heartbeat. A step and a meeting make one.
  void set_step(int64_t step);
  // Heartbeats of waits have the bytes that the other connections of this process move: ranks between which
  // none moves are stuck (H0131).
  void measure_traffic();
  // Seconds of the last steps without those spent waiting for other ranks.
  void set_busy(int64_t timed_steps, double p50_s, double p99_s);
  // Call them before and after a collective of the run. `collective` counts these, from 1.
  void reach(int64_t collective, std::string_view node);
  void pass();
  void set_work(std::string_view work, int64_t done, int64_t total);  // "": none

  // The ranks that have not reached this collective, with their present work.
  Result<std::vector<MissingRank>> who_is_missing(int64_t collective);

  // Times that the steps of each rank compute, in order of ranks.
  Result<std::vector<RankTimes>> rank_times();

  // Reports the error that ends this rank. `follows`: it comes from the loss of another rank.
  void fail(const Error& error, bool follows = false);
  std::optional<RankFailure> first_failure() const;

  // Says that this rank has finished; no wait may follow.
  void leave();

 private:
  struct Joined;
  explicit ControlClient(std::unique_ptr<Joined> joined);
  std::unique_ptr<Joined> joined_;
};

// Tells the control plane of `world` of a failure, for a launcher of another host than its server's: its
// ranks may be dead. Error H0125.
Status report_failure(const World& world, const std::string& token, const RankFailure& failure);

// Work of the host that others may wait for, for the time that this object lives. `client` may be null.
class HostWork {
 public:
  HostWork(ControlClient* client, std::string work, int64_t total = 0)
      : client_(client), work_(std::move(work)), total_(total) {
    update(0);
  }
  ~HostWork() {
    if (client_ != nullptr) client_->set_work("", 0, 0);
  }
  HostWork(const HostWork&) = delete;
  HostWork& operator=(const HostWork&) = delete;
  void update(int64_t done) const {
    if (client_ != nullptr) client_->set_work(work_, done, total_);
  }

 private:
  ControlClient* client_;
  std::string work_;
  int64_t total_;
};

}  // namespace hone
