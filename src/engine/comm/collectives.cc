#include "engine/comm/collectives.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/comm/sums.h"

namespace hone {
namespace {

// Up to this size of a bucket each rank sends all of it to all others: one exchange instead of two.
constexpr int64_t kReduceAtOnceBytes = 4096;
constexpr int64_t kBroadcastAtOnceBytes = 65536;

// The messages of an exchange. Each rank begins with the rank after it, so that no rank is the
// first target of all others.
struct Messages {
  explicit Messages(Group& g) : group(g) {}
  int target(int k) const { return (group.rank() + k) % group.ranks(); }
  int source(int k) const { return (group.rank() + group.ranks() - k) % group.ranks(); }
  void send(int to, const std::byte* data, int64_t bytes) {
    sends.push_back({to, {data, static_cast<size_t>(bytes)}});
  }
  void receive(int from, std::byte* data, int64_t bytes) {
    receives.push_back({from, {data, static_cast<size_t>(bytes)}});
  }
  Status exchange() {
    Status done = group.exchange(sends, receives);
    sends.clear();
    receives.clear();
    return done;
  }

  Group& group;
  std::vector<Send> sends;
  std::vector<Receive> receives;
};

// Terms of other ranks in a workspace: a block of `bytes` for each of them.
struct Terms {
  std::byte* of(int rank) const { return at + (rank < self ? rank : rank - 1) * bytes; }
  std::byte* at;
  int self;
  int64_t bytes;
};

template <class Tensor>
int64_t part_bytes(std::span<const Tensor> bucket, int rank, int ranks) {
  int64_t bytes = 0;
  for (const Tensor& t : bucket) {
    const Range r = rank_range(t.rows, rank, ranks);
    bytes += (r.end - r.begin) * t.row_bytes;
  }
  return bytes;
}
template <class Tensor>
int64_t whole_bytes(std::span<const Tensor> bucket) {
  int64_t bytes = 0;
  for (const Tensor& t : bucket) bytes += t.rows * t.row_bytes;
  return bytes;
}
int64_t elements_of(std::span<const ReduceTensor> bucket) {
  int64_t elements = 0;
  for (const ReduceTensor& t : bucket) elements += t.elements;
  return elements;
}
bool reduces_at_once(DType t, int64_t elements) {
  return elements * size_of(t) <= kReduceAtOnceBytes;
}

// fn(tensor, begin, end) for the elements of each tensor that fall into a range of the bucket's.
template <class Fn>
void for_pieces(std::span<const ReduceTensor> bucket, Range range, Fn&& fn) {
  int64_t first = 0;  // element of the bucket at which the tensor begins
  for (const ReduceTensor& t : bucket) {
    const int64_t begin = std::max(range.begin - first, int64_t{0});
    const int64_t end = std::min(range.end - first, t.elements);
    if (begin < end) fn(t, begin, end);
    first += t.elements;
  }
}

void check_workspace(std::span<std::byte> workspace, int64_t needed) {
  HONE_BUG_IF(static_cast<int64_t>(workspace.size()) < needed,
              "a collective needs {} bytes of workspace and has {}", needed, workspace.size());
}

// The sums of the bucket's elements in `range`, from terms that came as the pieces of that range.
void sum_pieces(DType dtype, std::span<const ReduceTensor> bucket, Range range, const Terms& terms,
                int ranks, ThreadPool* pool) {
  const int64_t size = size_of(dtype);
  std::vector<const std::byte*> of_rank(static_cast<size_t>(ranks));
  int64_t at = 0;
  for_pieces(bucket, range, [&](const ReduceTensor& t, int64_t begin, int64_t end) {
    for (int r = 0; r < ranks; ++r)
      of_rank[static_cast<size_t>(r)] = r == terms.self ? t.term + begin * size : terms.of(r) + at;
    sum_terms(dtype, end - begin, of_rank, t.sum + begin * size, pool);
    at += (end - begin) * size;
  });
}

}  // namespace

Range rank_range(int64_t count, int rank, int ranks) {
  return {count * rank / ranks, count * (rank + 1) / ranks};
}

CollectiveBytes bytes_of_reduce_scatter(std::span<const ScatterTensor> bucket, int rank,
                                        int ranks) {
  const int64_t part = part_bytes(bucket, rank, ranks), others = (ranks - 1) * part;
  return {.workspace = others, .sent = whole_bytes(bucket) - part, .received = others};
}

CollectiveBytes bytes_of_all_gather(std::span<const GatherTensor> bucket, int rank, int ranks) {
  const int64_t part = part_bytes(bucket, rank, ranks);
  return {.sent = (ranks - 1) * part, .received = whole_bytes(bucket) - part};
}

CollectiveBytes bytes_of_all_reduce(DType t, std::span<const ReduceTensor> bucket, int rank,
                                    int ranks) {
  const int64_t elements = elements_of(bucket), whole = elements * size_of(t);
  if (reduces_at_once(t, elements)) {
    const int64_t others = (ranks - 1) * whole;
    return {.workspace = others, .sent = others, .received = others};
  }
  const Range own = rank_range(elements, rank, ranks);
  const int64_t part = (own.end - own.begin) * size_of(t), others = (ranks - 1) * part;
  const int64_t moved = whole - part + others;
  return {.workspace = others, .sent = moved, .received = moved};
}

Status reduce_scatter(Group& group, DType dtype, std::span<const ScatterTensor> bucket,
                      std::span<std::byte> workspace, ThreadPool* pool) {
  const int self = group.rank(), n = group.ranks();
  const Terms terms{workspace.data(), self, part_bytes(bucket, self, n)};
  check_workspace(workspace, terms.bytes * (n - 1));
  Messages m(group);
  for (int k = 1; k < n; ++k) {
    std::byte* to = terms.of(m.source(k));
    for (const ScatterTensor& t : bucket) {
      const Range theirs = rank_range(t.rows, m.target(k), n), own = rank_range(t.rows, self, n);
      const int64_t bytes = (own.end - own.begin) * t.row_bytes;
      m.send(m.target(k), t.whole + theirs.begin * t.row_bytes,
             (theirs.end - theirs.begin) * t.row_bytes);
      m.receive(m.source(k), to, bytes);
      to += bytes;
    }
  }
  HONE_TRY(m.exchange());

  std::vector<const std::byte*> of_rank(static_cast<size_t>(n));
  int64_t at = 0;
  for (const ScatterTensor& t : bucket) {
    const Range own = rank_range(t.rows, self, n);
    const int64_t bytes = (own.end - own.begin) * t.row_bytes;
    for (int r = 0; r < n; ++r)
      of_rank[static_cast<size_t>(r)] =
          r == self ? t.whole + own.begin * t.row_bytes : terms.of(r) + at;
    sum_terms(dtype, bytes / size_of(dtype), of_rank, t.part, pool);
    at += bytes;
  }
  return Ok{};
}

Status all_gather(Group& group, std::span<const GatherTensor> bucket) {
  const int self = group.rank(), n = group.ranks();
  Messages m(group);
  for (const GatherTensor& t : bucket) {
    const Range own = rank_range(t.rows, self, n);
    const auto bytes = static_cast<size_t>((own.end - own.begin) * t.row_bytes);
    std::byte* place = t.whole + own.begin * t.row_bytes;
    if (bytes > 0 && place != t.part) std::memmove(place, t.part, bytes);
  }
  for (int k = 1; k < n; ++k)
    for (const GatherTensor& t : bucket) {
      const Range own = rank_range(t.rows, self, n), theirs = rank_range(t.rows, m.source(k), n);
      m.send(m.target(k), t.whole + own.begin * t.row_bytes, (own.end - own.begin) * t.row_bytes);
      m.receive(m.source(k), t.whole + theirs.begin * t.row_bytes,
                (theirs.end - theirs.begin) * t.row_bytes);
    }
  return m.exchange();
}

Status all_reduce(Group& group, DType dtype, std::span<const ReduceTensor> bucket,
                  std::span<std::byte> workspace, ThreadPool* pool) {
  const int self = group.rank(), n = group.ranks();
  const int64_t size = size_of(dtype), elements = elements_of(bucket);
  const bool at_once = reduces_at_once(dtype, elements);
  const auto range_of = [&](int rank) {
    return at_once ? Range{0, elements} : rank_range(elements, rank, n);
  };
  const Range own = range_of(self);
  const Terms terms{workspace.data(), self, (own.end - own.begin) * size};
  check_workspace(workspace, terms.bytes * (n - 1));
  Messages m(group);
  for (int k = 1; k < n; ++k) {
    for_pieces(bucket, range_of(m.target(k)),
               [&](const ReduceTensor& t, int64_t begin, int64_t end) {
                 m.send(m.target(k), t.term + begin * size, (end - begin) * size);
               });
    std::byte* to = terms.of(m.source(k));
    for_pieces(bucket, own, [&](const ReduceTensor&, int64_t begin, int64_t end) {
      m.receive(m.source(k), to, (end - begin) * size);
      to += (end - begin) * size;
    });
  }
  HONE_TRY(m.exchange());
  sum_pieces(dtype, bucket, own, terms, n, pool);
  if (at_once) return Ok{};

  for (int k = 1; k < n; ++k) {
    for_pieces(bucket, own, [&](const ReduceTensor& t, int64_t begin, int64_t end) {
      m.send(m.target(k), t.sum + begin * size, (end - begin) * size);
    });
    for_pieces(bucket, range_of(m.source(k)),
               [&](const ReduceTensor& t, int64_t begin, int64_t end) {
                 m.receive(m.source(k), t.sum + begin * size, (end - begin) * size);
               });
  }
  return m.exchange();
}

Status sum_over_ranks(Group& group, std::span<double> values) {
  auto* at = reinterpret_cast<std::byte*>(values.data());
  const ReduceTensor tensor{static_cast<int64_t>(values.size()), at, at};
  const CollectiveBytes bytes =
      bytes_of_all_reduce(DType::f64, {&tensor, 1}, group.rank(), group.ranks());
  std::vector<double> workspace(static_cast<size_t>(bytes.workspace) / sizeof(double));
  return all_reduce(group, DType::f64, {&tensor, 1}, std::as_writable_bytes(std::span(workspace)),
                    nullptr);
}

Status broadcast(Group& group, int root, std::span<const std::span<std::byte>> bucket) {
  const int self = group.rank(), n = group.ranks();
  std::vector<ReduceTensor> bytes;  // as tensors of one byte elements, for their pieces
  for (const auto& b : bucket)
    bytes.push_back({static_cast<int64_t>(b.size()), b.data(), b.data()});
  const int64_t total = elements_of(bytes);
  Messages m(group);
  const auto send_range = [&](int to, Range range) {
    for_pieces(bytes, range, [&](const ReduceTensor& t, int64_t begin, int64_t end) {
      m.send(to, t.term + begin, end - begin);
    });
  };
  const auto receive_range = [&](int from, Range range) {
    for_pieces(bytes, range, [&](const ReduceTensor& t, int64_t begin, int64_t end) {
      m.receive(from, t.sum + begin, end - begin);
    });
  };
  // The root sends each rank its range of the bucket, then each rank sends its own to all others:
  // the root's link carries the bucket twice, not n-1 times.
  const bool at_once = n == 2 || total <= kBroadcastAtOnceBytes;
  const auto range_of = [&](int rank) {
    return at_once ? Range{0, total} : rank_range(total, rank, n);
  };
  if (self == root)
    for (int k = 1; k < n; ++k) send_range(m.target(k), range_of(m.target(k)));
  else
    receive_range(root, range_of(self));
  HONE_TRY(m.exchange());
  if (at_once) return Ok{};

  for (int k = 1; k < n; ++k) {
    if (m.target(k) != root) send_range(m.target(k), range_of(self));
    if (self != root) receive_range(m.source(k), range_of(m.source(k)));
  }
  return m.exchange();
}

Status all_to_all(Group& group, std::span<const std::span<const std::byte>> to,
                  std::span<const std::span<std::byte>> from) {
  const auto n = static_cast<size_t>(group.ranks());
  HONE_BUG_IF(to.size() != n || from.size() != n, "all_to_all of {} and {} spans on {} ranks",
              to.size(), from.size(), n);
  Messages m(group);
  for (int k = 0; k < group.ranks(); ++k) {
    m.sends.push_back({m.target(k), to[static_cast<size_t>(m.target(k))]});
    m.receives.push_back({m.source(k), from[static_cast<size_t>(m.source(k))]});
  }
  return m.exchange();
}

Status barrier(Group& group) {
  Messages m(group);
  const std::byte here{};
  std::vector<std::byte> there(static_cast<size_t>(group.ranks()));
  for (int k = 1; k < group.ranks(); ++k) {
    m.send(m.target(k), &here, 1);
    m.receive(m.source(k), &there[static_cast<size_t>(m.source(k))], 1);
  }
  return m.exchange();
}

}  // namespace hone
