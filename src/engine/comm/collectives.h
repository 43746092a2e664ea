// Collectives: operations of all ranks of a group on a bucket, a list of tensors of one dtype.
//
//   const auto b = bytes_of_all_reduce(DType::f32, tensors, group.rank(), group.ranks());
//   HONE_TRY(all_reduce(group, DType::f32, tensors, workspace(b.workspace), &pool));
//
// Every rank passes the same list of shapes. Messages go from and to the tensors' own memory; the
// workspace, which the caller gives, holds the terms of other ranks. Sums are x_0 + x_1 + ... by
// rank (sums.h) whatever the engine, the bucket or the number of threads, so all ranks get the same
// bits. Errors are those of Group::exchange(); after one the contents of the results are undefined.
#pragma once

#include <cstdint>
#include <span>

#include "base/core/threads.h"
#include "engine/comm/group.h"
#include "engine/graph/type.h"

namespace hone {

// The part of `count` rows (or bytes, or examples) that belongs to rank `rank`:
// [count * rank / ranks, count * (rank + 1) / ranks). Parts may be empty.
Range rank_range(int64_t count, int rank, int ranks);

// A tensor of reduce_scatter: a sum over ranks, of which each rank keeps its rows, those of
// rank_range(rows, rank, ranks).
struct ScatterTensor {
  int64_t rows = 0, row_bytes = 0;
  const std::byte* whole = nullptr;  // this rank's term, all rows
  std::byte* part = nullptr;         // this rank's rows of the sum; may be their place in `whole`
};
// A tensor of all_gather, of which each rank has its rows, and gets all.
struct GatherTensor {
  int64_t rows = 0, row_bytes = 0;
  const std::byte* part = nullptr;  // this rank's rows; may be their place in `whole`
  std::byte* whole = nullptr;       // all rows
};
// A tensor of all_reduce: a sum over ranks, whole on each rank.
struct ReduceTensor {
  int64_t elements = 0;
  const std::byte* term = nullptr;  // of this rank
  std::byte* sum = nullptr;         // may be `term`
};

// Memory and traffic of a collective on one rank. The functions read shapes only, never an address.
struct CollectiveBytes {
  int64_t workspace = 0;           // aligned to the size of an element
  int64_t sent = 0, received = 0;  // to and from other ranks
};
CollectiveBytes bytes_of_reduce_scatter(std::span<const ScatterTensor> bucket, int rank, int ranks);
CollectiveBytes bytes_of_all_gather(std::span<const GatherTensor> bucket, int rank, int ranks);
CollectiveBytes bytes_of_all_reduce(DType t, std::span<const ReduceTensor> bucket, int rank,
                                    int ranks);

// Each rank gets the sums of its own rows. Sends (n-1)/n of the bucket; its workspace has that
// size.
Status reduce_scatter(Group& group, DType t, std::span<const ScatterTensor> bucket,
                      std::span<std::byte> workspace, ThreadPool* pool);
// Each rank gets all rows. Sends its part n-1 times: (n-1)/n of the bucket.
Status all_gather(Group& group, std::span<const GatherTensor> bucket);
// Each rank gets all sums: a reduce_scatter and an all_gather over equal ranges of the bucket's
// elements, so tensors of any size are cut evenly; for a few KiB one exchange of all terms.
Status all_reduce(Group& group, DType t, std::span<const ReduceTensor> bucket,
                  std::span<std::byte> workspace, ThreadPool* pool);
// values[i] = sum over ranks of their values[i]. For a few numbers: it allocates its workspace.
Status sum_over_ranks(Group& group, std::span<double> values);

// Fills the spans of all ranks with those of rank `root`.
Status broadcast(Group& group, int root, std::span<const std::span<std::byte>> bucket);
// Sends to[r] to each rank r, and receives from[r] from it. Lengths may differ by rank.
Status all_to_all(Group& group, std::span<const std::span<const std::byte>> to,
                  std::span<const std::span<std::byte>> from);
// Returns when every rank has called it.
Status barrier(Group& group);

}  // namespace hone
