// Test support: calls every collective on one rank of a group, and compares the results with plain loops over the data
// of all ranks. Data are random numbers from (seed, rank), so each rank can compute the data of all.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "engine/comm/collectives.h"

namespace hone {

// `count` random elements as bytes. Floats are normally distributed, so their sums depend on the order of additions.
inline std::vector<std::byte> test_tensor(DType t, int64_t count, uint32_t seed, int rank) {
  std::mt19937 random(seed * 1009 + static_cast<uint32_t>(rank));
  std::normal_distribution<float> normal;
  std::vector<std::byte> bytes(static_cast<size_t>(count * size_of(t)));
  const auto put = [&](int64_t i, auto value) {
    std::memcpy(bytes.data() + i * size_of(t), &value, sizeof value);
  };
  for (int64_t i = 0; i < count; ++i) {
    const float x = normal(random);
    if (t == DType::f64) put(i, static_cast<double>(x) / 3);
    if (t == DType::f32) put(i, x);
    if (t == DType::bf16) put(i, f32_to_bf16(x));
    if (t == DType::f16) put(i, f32_to_f16(x));
    if (t == DType::i64) put(i, static_cast<int64_t>(random()));
    if (t == DType::i32) put(i, static_cast<int32_t>(random()));
    if (t == DType::u8) put(i, static_cast<uint8_t>(random()));
  }
  return bytes;
}

// Adds the terms, whose elements have type T, as numbers of type Sum, in order, and writes the rounded sum.
template <class T, class Sum, class Widen, class Narrow>
void test_sum_as(std::vector<std::byte>& sum, const std::vector<std::vector<std::byte>>& terms,
                 Widen widen, Narrow narrow) {
  for (size_t at = 0; at < sum.size(); at += sizeof(T)) {
    const auto element = [&](size_t r) {
      T x;
      std::memcpy(&x, terms[r].data() + at, sizeof x);
      return widen(x);
    };
    Sum total = element(0);
    for (size_t r = 1; r < terms.size(); ++r) total = total + element(r);
    const T rounded = narrow(total);
    std::memcpy(sum.data() + at, &rounded, sizeof rounded);
  }
}

// The expected sum over ranks of test_tensor(t, count, seed, rank).
inline std::vector<std::byte> test_sum(DType t, int64_t count, uint32_t seed, int ranks) {
  std::vector<std::vector<std::byte>> terms;
  for (int r = 0; r < ranks; ++r) terms.push_back(test_tensor(t, count, seed, r));
  std::vector<std::byte> sum(terms[0].size());
  const auto same = [](auto x) { return x; };
  if (t == DType::f64) test_sum_as<double, double>(sum, terms, same, same);
  if (t == DType::f32) test_sum_as<float, float>(sum, terms, same, same);
  if (t == DType::bf16) test_sum_as<uint16_t, float>(sum, terms, bf16_to_f32, f32_to_bf16);
  if (t == DType::f16) test_sum_as<uint16_t, float>(sum, terms, f16_to_f32, f32_to_f16);
  if (t == DType::i64) test_sum_as<uint64_t, uint64_t>(sum, terms, same, same);
  if (t == DType::i32) test_sum_as<uint32_t, uint32_t>(sum, terms, same, same);
  return sum;
}

// The tensors of a bucket: the number of rows and the number of elements of a row.
using TestShapes = std::vector<std::pair<int64_t, int64_t>>;

class CollectiveCheck {
 public:
  explicit CollectiveCheck(Group& group, ThreadPool* pool = nullptr) : group_(group), pool_(pool) {}

  // These functions return "" or a text about the first difference or error. in_place: results overwrite operands.
  std::string reduce_scatter(DType t, const TestShapes& shapes, bool in_place);
  std::string all_gather(DType t, const TestShapes& shapes, bool in_place);
  std::string all_reduce(DType t, const TestShapes& shapes, bool in_place);
  std::string broadcast(int root, const std::vector<int64_t>& sizes);
  // Checks all collectives with several types and shapes.
  std::string all();

 private:
  // Compares the bytes that the group counted with `expected`. sent, received: the group's counts before the
  // collective.
  std::string counted(const char* name, CollectiveBytes expected, int64_t sent, int64_t received);
  Group& group_;
  ThreadPool* pool_;
};

inline std::string CollectiveCheck::counted(const char* name, CollectiveBytes expected,
                                            int64_t sent, int64_t received) {
  sent = group_.bytes_sent() - sent;
  received = group_.bytes_received() - received;
  if (sent == expected.sent && received == expected.received) return "";
  return fmt::format("{}: {} sent and {} received bytes, {} and {} expected", name, sent, received,
                     expected.sent, expected.received);
}

inline std::string CollectiveCheck::reduce_scatter(DType t, const TestShapes& shapes,
                                                   bool in_place) {
  std::vector<std::vector<std::byte>> wholes, parts;
  std::vector<ScatterTensor> bucket;
  uint32_t seed = 1;
  for (const auto& [rows, row] : shapes) {
    const Range own = rank_range(rows, group_.rank(), group_.ranks());
    wholes.push_back(test_tensor(t, rows * row, seed++, group_.rank()));
    parts.emplace_back(static_cast<size_t>((own.end - own.begin) * row * size_of(t)));
    std::byte* part =
        in_place ? wholes.back().data() + own.begin * row * size_of(t) : parts.back().data();
    bucket.push_back({rows, row * size_of(t), wholes.back().data(), part});
  }
  const CollectiveBytes bytes = bytes_of_reduce_scatter(bucket, group_.rank(), group_.ranks());
  std::vector<std::byte> workspace(static_cast<size_t>(bytes.workspace));
  const int64_t sent = group_.bytes_sent(), received = group_.bytes_received();
  const Status done = hone::reduce_scatter(group_, t, bucket, workspace, pool_);
  if (!done.ok()) return done.error().text();
  for (size_t i = 0; i < bucket.size(); ++i) {
    const auto [rows, row] = shapes[i];
    const Range own = rank_range(rows, group_.rank(), group_.ranks());
    const auto sum = test_sum(t, rows * row, static_cast<uint32_t>(i + 1), group_.ranks());
    if (own.end > own.begin &&
        std::memcmp(bucket[i].part, sum.data() + own.begin * row * size_of(t),
                    static_cast<size_t>((own.end - own.begin) * row * size_of(t))) != 0)
      return fmt::format("reduce_scatter: tensor {} of {} differs", i, name_of(t));
  }
  return counted("reduce_scatter", bytes, sent, received);
}

inline std::string CollectiveCheck::all_gather(DType t, const TestShapes& shapes, bool in_place) {
  std::vector<std::vector<std::byte>> wholes, parts, expected;
  std::vector<GatherTensor> bucket;
  uint32_t seed = 1;
  for (const auto& [rows, row] : shapes) {
    const int64_t row_bytes = row * size_of(t);
    const Range own = rank_range(rows, group_.rank(), group_.ranks());
    expected.push_back(test_tensor(t, rows * row, seed++, 0));
    wholes.emplace_back(expected.back().size());
    parts.emplace_back(expected.back().begin() + own.begin * row_bytes,
                       expected.back().begin() + own.end * row_bytes);
    std::byte* place = wholes.back().data() + own.begin * row_bytes;
    if (in_place && !parts.back().empty())
      std::memcpy(place, parts.back().data(), parts.back().size());
    bucket.push_back(
        {rows, row_bytes, in_place ? place : parts.back().data(), wholes.back().data()});
  }
  const int64_t sent = group_.bytes_sent(), received = group_.bytes_received();
  const Status done = hone::all_gather(group_, bucket);
  if (!done.ok()) return done.error().text();
  if (wholes != expected) return fmt::format("all_gather of {} differs", name_of(t));
  return counted("all_gather", bytes_of_all_gather(bucket, group_.rank(), group_.ranks()), sent,
                 received);
}

inline std::string CollectiveCheck::all_reduce(DType t, const TestShapes& shapes, bool in_place) {
  std::vector<std::vector<std::byte>> terms, sums, expected;
  std::vector<ReduceTensor> bucket;
  uint32_t seed = 1;
  for (const auto& [rows, row] : shapes) {
    expected.push_back(test_sum(t, rows * row, seed, group_.ranks()));
    terms.push_back(test_tensor(t, rows * row, seed++, group_.rank()));
    sums.emplace_back(terms.back().size());
    bucket.push_back(
        {rows * row, terms.back().data(), in_place ? terms.back().data() : sums.back().data()});
  }
  const CollectiveBytes bytes = bytes_of_all_reduce(t, bucket, group_.rank(), group_.ranks());
  std::vector<std::byte> workspace(static_cast<size_t>(bytes.workspace));
  const int64_t sent = group_.bytes_sent(), received = group_.bytes_received();
  const Status done = hone::all_reduce(group_, t, bucket, workspace, pool_);
  if (!done.ok()) return done.error().text();
  if ((in_place ? terms : sums) != expected)
    return fmt::format("all_reduce of {} differs", name_of(t));
  return counted("all_reduce", bytes, sent, received);
}

inline std::string CollectiveCheck::broadcast(int root, const std::vector<int64_t>& sizes) {
  std::vector<std::vector<std::byte>> expected, blocks;
  std::vector<std::span<std::byte>> bucket;
  for (const int64_t size : sizes) {
    expected.push_back(test_tensor(DType::u8, size, static_cast<uint32_t>(size), root));
    blocks.emplace_back(static_cast<size_t>(size));
    if (group_.rank() == root) blocks.back() = expected.back();
  }
  for (auto& b : blocks) bucket.emplace_back(b);
  const Status done = hone::broadcast(group_, root, bucket);
  if (!done.ok()) return done.error().text();
  return blocks == expected ? "" : fmt::format("broadcast from rank {} differs", root);
}

inline std::string CollectiveCheck::all() {
  const TestShapes small = {{7, 3}, {1, 1}, {2, 5}, {0, 4}, {13, 1}};
  const TestShapes large = {{67, 131}, {1, 1009}, {3, 1}, {128, 64}};
  for (const DType t : {DType::f32, DType::bf16, DType::f16, DType::f64, DType::i64, DType::i32})
    for (const TestShapes& shapes : {small, large}) {
      if (shapes == large && t != DType::f32 && t != DType::bf16) continue;  // to save time
      for (const bool in_place : {false, true})
        for (const std::string& wrong :
             {reduce_scatter(t, shapes, in_place), all_gather(t, shapes, in_place),
              all_reduce(t, shapes, in_place)})
          if (!wrong.empty()) return wrong;
    }
  for (int root = 0; root < group_.ranks(); ++root)
    for (const std::string& wrong :
         {broadcast(root, {5, 0, 1}), broadcast(root, {100003, 17, 65536})})
      if (!wrong.empty()) return wrong;
  const Status done = barrier(group_);
  return done.ok() ? "" : done.error().text();
}

}  // namespace hone
