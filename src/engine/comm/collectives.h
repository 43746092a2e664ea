// Collectives: operations of all ranks of a group on a bucket, which is a list of tensors of one dtype.
//
//   const auto b = bytes_of_all_reduce(DType::f32, tensors, group.rank(), group.ranks());
//   HONE_TRY(all_reduce(group, DType::f32, tensors, workspace(b.workspace), &pool));
//
// Every rank passes the same list of shapes. Messages are sent from and received in the tensors' own memory. The
// workspace, which the caller allocates, holds the terms of other ranks; a workspace that is too small is a Bug. Sums
// are added in the order of ranks, x_0 + x_1 + ... (sums.h), for any communication engine, bucket and number of
// threads, so all ranks get the same bits. Errors are those of Group::exchange(); after an error the contents of the
// results are undefined. `pool` may be null: the calling thread adds.
#pragma once

#include <cstdint>
#include <span>

#include "base/core/threads.h"
#include "engine/comm/group.h"
#include "engine/graph/type.h"

namespace hone {

// The part of `count` rows (or bytes, or examples) that belongs to rank `rank`: [count * rank / ranks, count * (rank +
// 1) / ranks), rounded down. A part may be empty.
Range rank_range(int64_t count, int rank, int ranks);

// A tensor of reduce_scatter. It is summed over the ranks, and each rank gets its own rows of the sum: rank_range(rows,
// rank, ranks).
struct ScatterTensor {
  int64_t rows = 0, row_bytes = 0;   // of the whole tensor
  const std::byte* whole = nullptr;  // this rank's term, all rows
  std::byte* part = nullptr;  // receives this rank's rows of the sum; may be these rows of `whole`
};
// A tensor of all_gather. Each rank has its rows, rank_range(rows, rank, ranks), and gets all rows.
struct GatherTensor {
  int64_t rows = 0, row_bytes = 0;  // of the whole tensor
  const std::byte* part = nullptr;  // this rank's rows; may be these rows of `whole`
  std::byte* whole = nullptr;       // receives all rows
};
// A tensor of all_reduce. Each rank gets the whole sum over the ranks.
struct ReduceTensor {
  int64_t elements = 0;
  const std::byte* term = nullptr;  // this rank's term
  std::byte* sum = nullptr;         // receives the sum; may be `term`
};

// Memory and traffic of a collective on one rank. The functions below read the shapes only; addresses may be null.
struct CollectiveBytes {
  int64_t workspace = 0;           // bytes; the workspace must be aligned to the size of an element
  int64_t sent = 0, received = 0;  // bytes to and from other ranks
};
CollectiveBytes bytes_of_reduce_scatter(std::span<const ScatterTensor> bucket, int rank, int ranks);
CollectiveBytes bytes_of_all_gather(std::span<const GatherTensor> bucket, int rank, int ranks);
CollectiveBytes bytes_of_all_reduce(DType t, std::span<const ReduceTensor> bucket, int rank,
                                    int ranks);

// Each rank gets its own rows of the sums. With n ranks, a rank sends (n-1)/n of the bucket and needs a workspace of
// that size.
Status reduce_scatter(Group& group, DType t, std::span<const ScatterTensor> bucket,
                      std::span<std::byte> workspace, ThreadPool* pool);
// Each rank gets all rows. A rank sends its rows n-1 times, which is (n-1)/n of the bucket.
Status all_gather(Group& group, std::span<const GatherTensor> bucket);
// Each rank gets all sums: a reduce_scatter and then an all_gather. For both, the elements of the whole bucket are cut
// into equal ranges, whatever the sizes of its tensors. A bucket of up to 4 KiB is sent whole to all ranks, in one
// exchange.
Status all_reduce(Group& group, DType t, std::span<const ReduceTensor> bucket,
                  std::span<std::byte> workspace, ThreadPool* pool);
// Replaces values[i] by its sum over all ranks. For a few numbers, because it allocates its workspace.
Status sum_over_ranks(Group& group, std::span<double> values);

// Copies the bytes of rank `root` to the spans of all other ranks, which have the same sizes.
Status broadcast(Group& group, int root, std::span<const std::span<std::byte>> bucket);
// Sends to[r] to rank r and receives from[r] from rank r, for all ranks, including this rank. Sizes may differ.
Status all_to_all(Group& group, std::span<const std::span<const std::byte>> to,
                  std::span<const std::span<std::byte>> from);
// Waits until every rank has called it.
Status barrier(Group& group);

}  // namespace hone
