// The ranks (processes or threads) that train a model together: the place of this rank among them, and messages with
// which all of them make the same decisions. All ranks must make the same calls in the same order.
//
//   const Json at = HONE_TRY(ranks.decide("the place to continue from", find));  // rank 0 calls find()
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
  // A run in which this rank is the only one at present. world.full_ranks is above 1 if other machines are missing.
  explicit RunRanks(const World& world);
  // A rank of a run that is only planned: it sends no messages. `local_ranks`: ranks on one host.
  RunRanks(const Share& share, int64_t local_ranks);
  // A rank of a run on several ranks. `messages`: sends short messages if `control` is null. `group`: sends tensors.
  // `control`: the control plane; it sends short messages, and gets the progress of collectives and host work; null:
  // the run has none. All three must outlive this object.
  RunRanks(const World& world, KeyValues& messages, Group& group, ControlClient* control = nullptr);
  RunRanks(const RunRanks&) = delete;
  ~RunRanks();

  const Share& share() const { return share_; }  // this rank among all ranks of the run
  // This rank's place on the two axes of the mesh. Ranks of the axis `tensor` have the same rows and divide matrix
  // products; ranks of the axis `data` have different rows. The rank of the run is data().rank * tensor().ranks +
  // tensor().rank.
  Share data() const { return {share_.rank / tensor_ranks_, share_.ranks / tensor_ranks_}; }
  Share tensor() const { return {share_.rank % tensor_ranks_, tensor_ranks_}; }
  // This rank's place among the ranks that each have a part of the weights: the ranks of the axis `tensor`. With
  // --split_invariant the axis `tensor` divides the rows of matrix products instead of the weights; the result is then
  // rank 0 of 1.
  Share parts() const { return cuts_over_all_ ? Share{} : tensor(); }
  // The ranks of the axis `data` form groups of consecutive ranks; the ranks of a group divide the states, and each
  // group has all states (--mics_shard_size). shard(): the place of this rank in its group. replica(): the place of its
  // group among the groups. With --split_invariant and an axis `tensor`, all ranks of the run are one group.
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
  // Sets the size of the axis `tensor`, which must divide the number of ranks. cuts_over_all: true with
  // --split_invariant; see parts() and shard().
  void set_tensor_ranks(int64_t ranks, bool cuts_over_all = false) {
    tensor_ranks_ = ranks;
    cuts_over_all_ = cuts_over_all && ranks > 1;
  }
  // Sets the number of ranks of a group of shard(), which must divide data().ranks. 0: all ranks of the axis `data` are
  // one group.
  void set_shard_ranks(int64_t ranks) { shard_ranks_ = ranks; }
  // The number of ranks when no machine is missing. It decides the number of rows of a step. While machines are
  // missing, it is larger than share().ranks.
  int64_t full_ranks() const { return full_ranks_; }
  // The number of the membership, from 1. A membership is the ranks of the run from one start by the launcher to the
  // next. A number above 1 means that the launcher has started the ranks again, such as after a crash.
  int64_t epoch() const { return epoch_; }
  bool alone() const { return share_.alone(); }    // there is no other rank
  bool leads() const { return share_.rank == 0; }  // this is rank 0
  const std::string& host() const { return host_; }
  // The address of this host for the ranks of other hosts; "": all ranks are on this host, or the address is unknown.
  const std::string& address() const { return address_; }
  void set_address(std::string address) { address_ = std::move(address); }
  int64_t local_ranks() const { return local_ranks_; }  // number of ranks on this host
  Group* group() const { return group_; }               // null: there is no other rank
  // For ranks that are threads of one process. Their devices run each program with collectives together, so all ranks
  // must run it in the same shape. set_backend() stores the backend of this rank's device. The first take_backend()
  // after it returns this backend; other calls return null.
  void set_backend(std::unique_ptr<Backend> backend);
  std::unique_ptr<Backend> take_backend();
  bool in_one_process() const { return in_one_process_; }  // true: set_backend() was called
  ControlClient* control() const { return control_; }      // for HostWork; may be null

  // Returns the value `mine` of each rank, by rank. `what`: description of the value, for messages. If there is a
  // control plane, the values are sent over it; it waits for a slow rank as long as the rank is alive. Errors: those of
  // the control plane or of the messages.
  Result<std::vector<Json>> gather(std::string_view what, const Json& mine);
  // Calls `make` on rank 0 only, and returns its value on all ranks. Errors: if `make` fails, all ranks return its
  // Error; those of gather().
  Result<Json> decide(std::string_view what, FunctionRef<Result<Json>()> make);
  // Returns Ok on all ranks if `mine` is Ok on all ranks. Otherwise all ranks return the Error of the lowest rank that
  // has one. Errors also: those of gather().
  Status agree(std::string_view what, const Status& mine);
  // True: the last Error that decide() or agree() returned came only from another rank.
  bool was_told_error() const { return was_told_error_; }
  // Requests a stop on all ranks if a signal has requested one on any rank (base/core/held_stop.h). Errors: those of
  // gather().
  Status share_stops();

  // Tells the control plane that step `step` has ended and took `seconds`, so that it can find slow ranks. Does nothing
  // without a control plane.
  void end_step(int64_t step, double seconds);

  // Returns the bytes `mine` of each rank, by rank; their lengths may differ. They are sent over group(), as tensors
  // are.
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

// Returns H2430 if the facts of a rank differ from those of rank 0; the message names the facts that differ. `facts`: a
// JSON object of names and values for each rank, by rank. Its member "host" is the name of the host and is not
// compared.
Status check_equal_facts(const std::vector<Json>& facts);

}  // namespace hone
