// In-memory checkpoints: copies of a run's state in the memory of its hosts, from which the run continues after a
// crash. Each rank writes its part of the state into a folder in the memory of its host; the launcher created that
// folder (run_copies.h). While the next steps run, ranks of other hosts copy the part over the network into the memory
// of their hosts, so the state survives the loss of a host. All ranks make the same calls in the same order.
//
//   <memory>/<epoch>-<rank>-of-<ranks>/checkpoint-<step>   the part of one rank; it is complete or does not exist
//
// A membership is the ranks of the run from one start by the launcher to the next. <epoch> is the number of the
// membership: the launcher increases it each time it starts the ranks again. The parts of all ranks of one membership
// and one step are a set. A set can be used only if each of its parts is in the memory of some host. An older set is
// deleted when all hosts that must keep parts of a newer set have them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/store/peers/peer_server.h"
#include "base/store/peers/peer_store.h"
#include "learn/checkpoint/training_checkpoint.h"
#include "learn/train/background_save.h"
#include "learn/train/run_ranks.h"

namespace hone {

struct TrainSettings;

// The part of one rank in a set.
struct CopyPart {
  int64_t epoch = 1;        // number of the membership that wrote it
  int rank = 0, ranks = 1;  // the rank that wrote it, and the number of ranks, in that membership
  int64_t step = 0;         // optimizer steps done

  // Its folder and path, relative to the memory folder.
  std::string folder() const { return fmt::format("{}-{}-of-{}", epoch, rank, ranks); }
  std::string path() const { return fmt::format("{}/checkpoint-{}", folder(), step); }
  // Reads the name of a folder; the result's step is 0. nullopt: the name is not one of folder().
  static std::optional<CopyPart> of_folder(const std::string& name);
};

struct CopySet {
  CopyPart first;            // the part of rank 0
  std::vector<int> holders;  // for each part, a rank of the present membership on whose host it is
};

// The newest set that can be used; nullopt: none. held[r]: the parts in the memory of the host of rank r of the present
// membership. A set counts only if its first part is on the host of rank 0, because the run cannot continue without
// that host: it runs the control plane.
std::optional<CopySet> newest_copy_set(const std::vector<std::vector<CopyPart>>& held);

// The ranks whose parts `rank` copies to its host. A host copies the parts of the `copies` hosts before it in a ring,
// in which the last host is before the first one. The ranks of the host divide this work. `hosts`: the host of each
// rank.
std::vector<int> copied_ranks(const std::vector<std::string>& hosts, int rank, int64_t copies);

struct CopyOptions {
  std::string memory;  // the memory folder of this host; "": none
  // The address of this host for other hosts; "": there are no other hosts.
  std::string address = {};
  std::string token = {};  // the secret that a rank must send to read parts of other hosts
  int64_t hosts = 0;  // number of hosts that keep each part; 0: the default of hosts_of_copies()
};

class HostCopies {
 public:
  // Exchanges addresses with the other hosts and finds the parts in their memory. Returns null if a host has no memory
  // folder. `ranks` must outlive the result. Errors: those of the messages between ranks and of PeerServer::open().
  static Result<std::shared_ptr<HostCopies>> open(RunRanks& ranks, CopyOptions options);
  // As above, for a run with these settings. Returns null also if --memory_save_steps is 0.
  static Result<std::shared_ptr<HostCopies>> open(const TrainSettings& s);
  ~HostCopies();
  HostCopies(const HostCopies&) = delete;

  // The set to continue from: the newest one that could be used when this object was opened. nullopt: there was none.
  const std::optional<CopySet>& newest() const { return newest_; }
  // The path of the first part of newest(), on the host of rank 0. newest() must be set.
  std::string newest_path() const { return memory_ + "/" + newest_->first.path(); }
  // Verifies and opens the set newest(), which must be set. Tensors have the names of the session's states. The result
  // is valid as long as this object. Errors: H2212 a part is damaged; those of reading from other hosts.
  Result<ResumeState> open_newest();

  // The folder into which this rank writes its part, under the name checkpoint-<step>.
  std::string own_folder() const {
    return memory_ + "/" + part_of(ranks_.share().rank, 0).folder();
  }
  // Starts copying the parts of `step` from other hosts to this host, in the background. Call it after all ranks have
  // written their parts. If no other host keeps a part (copies_ is 0), deletes older sets at once and copies nothing.
  Status spread(int64_t step);
  // Waits until the copies that spread() started are complete on all hosts, and deletes older sets. If copying failed
  // on a host, warns and deletes the parts and copies of the new set instead. Returns false if copying failed because
  // the memory of a host is full. Does nothing and returns true if no copies were started since the last call. Errors:
  // a rank is lost; parts cannot be deleted.
  Result<bool> settle();
  // Deletes all parts and copies in the memory of all hosts. All ranks call it.
  Status drop();

 private:
  HostCopies(RunRanks& ranks, CopyOptions options);
  Status meet();        // exchanges addresses with the other hosts
  Status find_parts();  // sets newest_
  CopyPart part_of(int64_t rank, int64_t step) const;
  PeerStore& store_of(int rank);
  bool leads_host() const;
  // Deletes copies in the memory of this host that belong to another membership or to a step before `first`.
  Status keep_from(int64_t first) const;
  Status verify(const CopySet& set) const;

  RunRanks& ranks_;
  const std::string memory_, address_, token_;
  const int64_t asked_hosts_;
  int64_t copies_ = 0;  // number of other hosts that keep each part
  struct Place {
    // host: the host's name and memory folder, different for each host. name: the host's name.
    std::string host, name, address;
    int port = 0;
  };
  std::vector<Place> places_;  // by rank
  std::optional<CopySet> newest_;
  std::map<int, std::unique_ptr<PeerStore>> stores_;  // by rank
  std::vector<int> sources_;  // ranks whose parts this rank copies to its host
  int64_t spreading_ = -1;    // the step that is being copied; -1: none
  std::unique_ptr<PeerServer> server_;
  std::unique_ptr<BackgroundSave> copying_;
};

}  // namespace hone
