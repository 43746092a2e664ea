// Copies of the run's state in the memory of its hosts, from which it continues after a crash. Each rank writes
// its part of the state into the memory of its host, a folder of the launcher (run_copies.h). A rank of the next
// host then reads that part from there, while the next steps run, and keeps it too: the state outlives any
// host. All ranks make the same calls in the same order.
//
//   <memory>/<epoch>-<rank>-of-<ranks>/checkpoint-<step>   a part, which is there complete or not at all
//
// The parts of all ranks of one membership and step are a set. A set counts only if each of its parts is in the
// memory of some host. An older one is deleted after a newer one is on all hosts that keep it.
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

// A part of a set.
struct CopyPart {
  int64_t epoch = 1;        // of the membership that wrote it
  int rank = 0, ranks = 1;  // there
  int64_t step = 0;

  std::string folder() const { return fmt::format("{}-{}-of-{}", epoch, rank, ranks); }
  std::string path() const { return fmt::format("{}/checkpoint-{}", folder(), step); }
  // The part of a folder of that name, without its step; none: it is of something else.
  static std::optional<CopyPart> of_folder(const std::string& name);
};

struct CopySet {
  CopyPart first;            // of rank 0
  std::vector<int> holders;  // by part: a rank of the present membership that has it in its memory
};

// The newest set, of parts by the present rank that has them. Its first part is on the host of rank 0, which
// cannot be lost: it serves the control plane.
std::optional<CopySet> newest_copy_set(const std::vector<std::vector<CopyPart>>& held);

// The ranks whose parts `rank` keeps too: of the hosts before its own, at most `copies` of them. `hosts`: by rank.
std::vector<int> copied_ranks(const std::vector<std::string>& hosts, int rank, int64_t copies);

struct CopyOptions {
  std::string memory;        // folder of this host; "": none
  std::string address = {};  // of this host for the others; "": there are none
  std::string token = {};
  int64_t hosts = 0;  // asked for, that have each part: hosts_of_copies()
};

class HostCopies {
 public:
  // Null: a host has no memory for copies. Errors: those of the ranks and of PeerServer::open().
  static Result<std::shared_ptr<HostCopies>> open(RunRanks& ranks, CopyOptions options);
  // For a run with these settings; null too if it makes no copies.
  static Result<std::shared_ptr<HostCopies>> open(const TrainSettings& s);
  ~HostCopies();
  HostCopies(const HostCopies&) = delete;

  // The set to continue from: the newest when this was opened.
  const std::optional<CopySet>& newest() const { return newest_; }
  // Its first part, a path of rank 0's host.
  std::string newest_path() const { return memory_ + "/" + newest_->first.path(); }
  // Opens it. Tensors have the names of the session's states. The objects are valid as long as this one. Errors: H2212, those of
  // other hosts.
  Result<ResumeState> open_newest();

  // The folder into which this rank writes its part, as checkpoint-<step>.
  std::string own_folder() const {
    return memory_ + "/" + part_of(ranks_.share().rank, 0).folder();
  }
  // All ranks have written that part: other hosts copy it from now on.
  Status spread(int64_t step);
  // Waits until the step of spread() is on all hosts that keep it, and deletes older ones. One that fails is
  // deleted instead, with a warning. False: a host has no room for it. Errors: a rank is lost.
  Result<bool> settle();
  // Deletes all copies.
  Status drop();

 private:
  HostCopies(RunRanks& ranks, CopyOptions options);
  Status meet();  // the other hosts, and finds the parts
  Status find_parts();
  CopyPart part_of(int64_t rank, int64_t step) const;
  PeerStore& store_of(int rank);
  bool leads_host() const;
  // Deletes copies in the memory of this host that are of another membership or of an earlier step.
  Status keep_from(int64_t first) const;
  Status verify(const CopySet& set) const;

  RunRanks& ranks_;
  const std::string memory_, address_, token_;
  const int64_t asked_hosts_;
  int64_t copies_ = 0;  // of a part, besides its own host's
  struct Place {
    std::string host, name, address;  // host: a word that differs for each
    int port = 0;
  };
  std::vector<Place> places_;  // by rank
  std::optional<CopySet> newest_;
  std::map<int, std::unique_ptr<PeerStore>> stores_;
  std::vector<int> sources_;  // ranks whose parts this one keeps
  int64_t spreading_ = -1;    // step
  std::unique_ptr<PeerServer> server_;
  std::unique_ptr<BackgroundSave> copying_;
};

}  // namespace hone
