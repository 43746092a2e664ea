// A rank's connection to the control plane (control.h): keys and values, exchange of data between all ranks, the rank's
// progress, and errors of other ranks.
//
//   const auto client = HONE_TRY(ControlClient::join(world, {.token = token, .facts = {...}}));
//   HONE_TRY(client->barrier("start"));
//   client->set_step(7);
//   { const HostWork work(client.get(), "evaluation", rows);  ... work.update(done); }
//   HONE_TRY(client->gather("metrics 7", dump_json(mine)));
//
// A background thread sends heartbeats with the progress, also while the other threads are busy. A stop request of the
// launcher acts like a signal to this process (base/core/signals.h). Several threads may use a client.
//
// A call that waits fails with H0129 if another rank has failed, with H0124 if a new membership has started without
// this rank (World::epoch), and with H0125 if the connection to the control plane is lost.
//
// A "collective" is an operation in which all ranks of the run take part, such as an all-reduce of gradients.
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
  std::string token = {};  // the secret of the run; "": none
  Json facts =
      Json::object();  // texts by name (program, settings, data); rank 0 must have the same
  // join() takes at most this number of seconds to connect and to wait until rank 0 has joined too.
  double patience_s = 600;
  double heartbeat_s = 1;          // the time between two heartbeats, in seconds
  Clock* clock = &system_clock();  // not owned
};

class ControlClient : public KeyValues {
 public:
  // Connects and joins the run. Errors: H0122 the facts differ from those of rank 0, H0123 the token or the rank is
  // wrong, H0124 the rank belongs to an earlier membership, H0125 the control plane cannot be reached, H0126 rank 0 has
  // not joined in time, H0128 something else answers at the address, H0129 another rank has failed.
  static Result<std::unique_ptr<ControlClient>> join(const World& world, JoinOptions options);
  ~ControlClient() override;

  const World& world() const;

  // KeyValues: see base/ranks/key_values.h.
  Status set(const std::string& key, std::string_view value) override;
  Result<std::string> get(const std::string& key, double patience_s = kNoEnd) override;
  // set() and get() for JSON values. Their keys are separate from those of set() and get(). The text of a value has at
  // most kMostValueBytes.
  Status publish(const std::string& key, const Json& value);
  Result<Json> published(const std::string& key, double patience_s = kNoEnd);

  // Exchanges bytes between all ranks: every rank calls it with the same name and its own bytes (at most
  // kMostValueBytes). Waits for all ranks and returns the bytes of all, in the order of ranks. Error H0126 if not all
  // ranks have called it within `patience_s` seconds.
  Result<std::vector<std::string>> gather(const std::string& name, std::string_view mine,
                                          double patience_s = kNoEnd);
  // Waits until every rank has called it with this name. Error H0126 as in gather().
  Status barrier(const std::string& name, double patience_s = kNoEnd);

  // Sets the optimizer step. The progress of this rank is sent with each heartbeat. set_step() and gather() also send a
  // heartbeat at once, but set_step() at most ten a second.
  void set_step(int64_t step);
  // From now on, heartbeats count traffic. If this rank has waited in a collective for at least 2 s, a heartbeat has
  // the number of bytes that all TCP connections of this process have moved, except the client's own. From these
  // numbers the server finds that ranks are stuck (H0131): all wait, and no byte moves between them.
  void measure_traffic();
  // Sets the number of timed steps and the median and 99th percentile of their times in seconds, without the time spent
  // waiting for other ranks.
  void set_busy(int64_t timed_steps, double p50_s, double p99_s);
  // Call before a collective. `collective` is its number in the run, from 1; `node` is its name.
  void reach(int64_t collective, std::string_view node);
  void pass();  // call after the collective
  // Sets the work of this rank besides optimizer steps, such as "evaluation", with `done` of `total` units; total 0:
  // unknown. `work` "": none.
  void set_work(std::string_view work, int64_t done, int64_t total);

  // The ranks that have not reached collective number `collective`, with their present work. Error H0125 if the control
  // plane does not answer within 5 s.
  Result<std::vector<MissingRank>> who_is_missing(int64_t collective);

  // The step times of each rank, in the order of ranks. Error H0125 as in who_is_missing().
  Result<std::vector<RankTimes>> rank_times();

  // Reports the error that ends this rank. `follows` true: the error is a consequence of another rank's end.
  void fail(const Error& error, bool follows = false);
  // The first failure of the run that the control plane has reported; nullopt: none.
  std::optional<RankFailure> first_failure() const;

  // Tells the control plane that this rank has finished. Do not call gather(), get() or other waits afterwards.
  void leave();

 private:
  struct Joined;
  explicit ControlClient(std::unique_ptr<Joined> joined);
  std::unique_ptr<Joined> joined_;
};

// Reports a failure to the control plane of `world`, for a launcher that is not on the server's host and whose ranks
// may be dead. Error H0125 if the control plane cannot be reached within 5 s.
Status report_failure(const World& world, const std::string& token, const RankFailure& failure);

// Announces work besides optimizer steps (ControlClient::set_work) until the object is destroyed, because other ranks
// may wait for it. `client` may be null: the object then does nothing. `total` is the number of units; 0: unknown.
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
