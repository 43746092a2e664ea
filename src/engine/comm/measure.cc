#include "engine/comm/measure.h"

#include <algorithm>

#include "engine/comm/collectives.h"

namespace hone {
namespace {

constexpr int64_t kSmallBytes = 8, kBlockBytes = 65536, kLargeBytes = int64_t{4} << 20;
constexpr int64_t kReducedBytes = int64_t{16} << 20;

// Median time of an exchange of `bytes` in both directions.
Result<double> exchange_time(Group& group, Clock& clock, int peer, int64_t bytes, int times) {
  std::vector<std::byte> out(static_cast<size_t>(bytes)), in(out.size());
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) {
    const Send send{peer, out};
    const Receive receive{peer, in};
    const double begin = clock.seconds();
    HONE_TRY(group.exchange({&send, 1}, {&receive, 1}));
    seconds.push_back(clock.seconds() - begin);
  }
  std::nth_element(seconds.begin(), seconds.begin() + times / 2, seconds.end());
  return seconds[static_cast<size_t>(times) / 2];
}

// The partner of a rank in a turn, such that each pair meets once in `ranks` turns; -1: none.
int partner_of(int rank, int turn, int ranks) {
  const int partner = ((turn - rank) % ranks + ranks) % ranks;
  return partner == rank ? -1 : partner;
}

}  // namespace

Result<GroupSpeed> measure_group(Group& group, Clock& clock) {
  GroupSpeed speed;
  speed.peers.resize(static_cast<size_t>(group.ranks()));
  for (int turn = 0; turn < group.ranks(); ++turn) {
    HONE_TRY(barrier(group));
    const int peer = partner_of(group.rank(), turn, group.ranks());
    if (peer < 0) continue;
    PeerSpeed& p = speed.peers[static_cast<size_t>(peer)];
    HONE_TRY(exchange_time(group, clock, peer, kLargeBytes, 1));  // the first one is slower
    p.small_s = HONE_TRY(exchange_time(group, clock, peer, kSmallBytes, 101));
    p.block_s = HONE_TRY(exchange_time(group, clock, peer, kBlockBytes, 31));
    const double large_s = HONE_TRY(exchange_time(group, clock, peer, kLargeBytes, 7));
    p.bytes_per_s = large_s > 0 ? static_cast<double>(kLargeBytes) / large_s : 0;
  }

  std::vector<std::byte> data(kReducedBytes);
  const ReduceTensor tensor{kReducedBytes / 4, data.data(), data.data()};
  const int64_t needed =
      bytes_of_all_reduce(DType::f32, {&tensor, 1}, group.rank(), group.ranks()).workspace;
  std::vector<std::byte> workspace(static_cast<size_t>(needed));
  speed.all_reduce_bytes = kReducedBytes;
  for (int i = 0; i < 2; ++i) {  // the second one counts
    HONE_TRY(barrier(group));
    const double begin = clock.seconds();
    HONE_TRY(all_reduce(group, DType::f32, {&tensor, 1}, workspace, nullptr));
    speed.all_reduce_s = clock.seconds() - begin;
  }
  return speed;
}

}  // namespace hone
