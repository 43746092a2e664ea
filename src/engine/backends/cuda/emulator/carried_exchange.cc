// The exchange of a fake communicator, over the group that carries its messages.
#include <map>

#include "base/core/hash.h"
#include "engine/backends/cuda/emulator/fake_nccl.h"
#include "engine/comm/errors.h"

namespace hone::cuda {
namespace {

// The messages of a rank to another one: their number, bytes, and a hash of all sizes.
struct MessageSizes {
  uint64_t count = 0, bytes = 0, hash = 0;
  void add(size_t size) {
    ++count;
    bytes += size;
    hash = fnv1a(hash, size);
  }
  bool operator==(const MessageSizes&) const = default;
  std::string text() const { return fmt::format("{} messages of {} bytes", count, bytes); }
};
// To and from a peer, as one end sees them.
struct PairSizes {
  MessageSizes sent, received;
};

}  // namespace

Status carried_exchange(Group& carrier, std::span<const Send> sends,
                        std::span<const Receive> receives) {
  struct Ends {
    PairSizes mine, theirs;
  };
  std::map<int, Ends> peers;
  for (const Send& s : sends) peers[s.to].mine.sent.add(s.bytes.size());
  for (const Receive& r : receives) peers[r.from].mine.received.add(r.bytes.size());
  std::vector<Send> told;
  std::vector<Receive> heard;
  for (auto& [peer, ends] : peers) {
    told.push_back({peer, std::as_bytes(std::span(&ends.mine, 1))});
    heard.push_back({peer, std::as_writable_bytes(std::span(&ends.theirs, 1))});
  }
  HONE_TRY(carrier.exchange(told, heard));
  for (const auto& [peer, ends] : peers) {
    if (ends.mine.sent == ends.theirs.received && ends.mine.received == ends.theirs.sent) continue;
    return Error(
        err::kMessageDiffers,
        fmt::format("rank {} sends rank {} {} and awaits {}; that rank awaits {} and sends {}",
                    carrier.rank(), peer, ends.mine.sent.text(), ends.mine.received.text(),
                    ends.theirs.received.text(), ends.theirs.sent.text()));
  }
  return carrier.exchange(sends, receives);
}

}  // namespace hone::cuda
