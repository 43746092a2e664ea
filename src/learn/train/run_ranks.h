// The ranks that train a model together, as a run sees them: its place among them, and messages by
// which all decide alike. The ranks make the same calls in the same order.
//
//   const Json at = HONE_TRY(ranks.decide("the place to continue from", find));  // by rank 0
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/json.h"
#include "base/core/threads.h"
#include "base/ranks/control_client.h"
#include "base/ranks/world.h"
#include "engine/comm/group.h"
#include "engine/graph/shard.h"

namespace hone {

class Backend;  // engine/device/backend.h

class RunRanks {
 public:
  RunRanks();  // a run of one rank
  // A run of which one rank is here. The machines of the others may be missing.
  explicit RunRanks(const World& world);
  // A rank of a plan, which exchanges nothing. `local_ranks`: on one host.
  RunRanks(const Share& share, int64_t local_ranks);
  // `messages` and `group` must outlive it, and so must `control`, which may be null: the progress of
  // collectives and host work goes there.
  RunRanks(const World& world, KeyValues& messages, Group& group, ControlClient* control = nullptr);
  RunRanks(const RunRanks&) = delete;
  ~RunRanks();

  const Share& share() const { return share_; }
  // The two axes of a mesh: ranks of `tensor` divide products and share rows; ranks of `data` have rows of their
  // own. The rank of the run is data().rank * tensor().ranks + tensor().rank.
  Share data() const { return {share_.rank / tensor_ranks_, share_.ranks / tensor_ranks_}; }
  Share tensor() const { return {share_.rank % tensor_ranks_, tensor_ranks_}; }
  // The ranks of `tensor` that have parts of weights each; with --split_invariant they divide rows of products
  // instead, and states are cut between all ranks of the run.
  Share parts() const { return cuts_over_all_ ? Share{} : tensor(); }
  // Groups of `data` that cut states (--mics_shard_size), one after another: this rank in its group, and the group
  // among the groups. Each group has all states.
  Share shard() const {
    if (cuts_over_all_) return share_;
    const int64_t n = shard_ranks_ > 0 ? shard_ranks_ : data().ranks;
    return {data().rank % n, n};
  }
  Share replica() const {
    if (cuts_over_all_) return {};
    const Share all = data(), own = shard();
    return {all.rank / own.ranks, all.ranks / own.ranks};
  }
  // The number of the run's ranks is a multiple. cuts_over_all: see parts().
  void set_tensor_ranks(int64_t ranks, bool cuts_over_all = false) {
    tensor_ranks_ = ranks;
    cuts_over_all_ = cuts_over_all && ranks > 1;
  }
  void set_shard_ranks(int64_t ranks) { shard_ranks_ = ranks; }  // 0: all; divides data().ranks
  // Ranks of the whole run, which decide the rows of a step; more than share().ranks while machines
  // are missing.
  int64_t full_ranks() const { return full_ranks_; }
  // Number of the membership: after the first one, the run continues after a crash.
  int64_t epoch() const { return epoch_; }
  bool alone() const { return share_.alone(); }
  bool leads() const { return share_.rank == 0; }
  const std::string& host() const { return host_; }
  // The address of this host that all other ranks reach; "": all are on this host, or it is unknown.
  const std::string& address() const { return address_; }
  void set_address(std::string address) { address_ = std::move(address); }
  int64_t local_ranks() const { return local_ranks_; }  // on this host
  Group* group() const { return group_; }               // null: alone
  // Ranks that are threads of this process, whose devices run each program with collectives together, as one:
  // all of them run programs of one shape. The backend of this rank's device; take_backend() gives it once.
  void set_backend(std::unique_ptr<Backend> backend);
  std::unique_ptr<Backend> take_backend();
  bool in_one_process() const { return in_one_process_; }
  ControlClient* control() const { return control_; }  // for HostWork; may be null

  // The values of all ranks, by rank. `what` appears in messages. These values go over the control
  // plane: a rank may be late for any reason, as long as it lives. Errors: those of the control plane.
  Result<std::vector<Json>> gather(std::string_view what, const Json& mine);
  // The value that rank 0 makes. If it fails, all ranks return its Error.
  Result<Json> decide(std::string_view what, FunctionRef<Result<Json>()> make);
  // Returns the first failure by rank on all of them.
  Status agree(std::string_view what, const Status& mine);
  // The last Error of decide() or agree() was another rank's.
  bool was_told_error() const { return was_told_error_; }
  // Requests a stop on all ranks if a signal waits on one (base/core/held_stop.h).
  Status share_stops();

  // Tells the control plane that a step has ended, which took this time. Slow ranks are found by it.
  void end_step(int64_t step, double seconds);

  // The bytes of all ranks, by rank, of any length. They go where tensors go.
  Result<std::vector<std::string>> gather_bytes(std::string_view mine);

 private:
  std::string next_key(std::string_view what);
  Result<std::vector<std::string>> gather_texts(std::string_view what, const std::string& mine);

  Share share_;
  std::string host_, address_;
  int64_t tensor_ranks_ = 1, shard_ranks_ = 0;
  bool cuts_over_all_ = false;
  int64_t local_ranks_ = 1, full_ranks_ = 1, epoch_ = 1, calls_ = 0;
  KeyValues* messages_ = nullptr;
  Group* group_ = nullptr;
  ControlClient* control_ = nullptr;
  bool was_told_error_ = false;
  std::unique_ptr<Backend> backend_;
  bool in_one_process_ = false;
  class Watch;
  std::unique_ptr<Watch> watch_;  // null without a control plane
};

// Facts of a run that all ranks share: an object of names and values. Refuses ranks whose facts differ
// from those of rank 0, and names the facts. `facts`: by rank, with the name of the host as "host".
// Errors: H2430.
Status check_equal_facts(const std::vector<Json>& facts);

}  // namespace hone
