// The tokens that are masked: shares, special tokens, independence of batches and steps.
#include "learn/tasks/mlm_masks.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hone {
namespace {

constexpr int32_t kMask = 4, kVocab = 1000, kSpecial = 5;  // ids below kSpecial are special

MaskOptions options(double probability = 0.15) {
  MaskOptions o{probability, 42, kMask, kVocab, std::vector<uint8_t>(kVocab)};
  std::fill_n(o.untouched.begin(), kSpecial, 1);
  return o;
}

// Row r: special tokens at both ends and one amidst, words between.
std::vector<int32_t> row_of(int64_t r, int64_t tokens) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < tokens; ++i)
    ids.push_back(static_cast<int32_t>(kSpecial + (r * 131 + i * 7919) % (kVocab - kSpecial)));
  ids.front() = 2;
  ids[ids.size() / 2] = 1;
  ids.back() = 3;
  return ids;
}

struct Counts {
  int64_t words = 0, labels = 0, masked = 0, random = 0, same = 0;
};
Counts count(const TokenMasker& masker, int64_t step, int64_t rows, int64_t tokens) {
  Counts c;
  for (int64_t r = 0; r < rows; ++r) {
    const std::vector<int32_t> before = row_of(r, tokens);
    std::vector<int32_t> ids = before, labels(before.size());
    masker.mask(step, r, ids, labels);
    int64_t in_row = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (before[i] < kSpecial) {
        EXPECT_EQ(ids[i], before[i]);
        EXPECT_EQ(labels[i], kIgnoreLabel);
        continue;
      }
      ++c.words;
      if (labels[i] == kIgnoreLabel) {
        EXPECT_EQ(ids[i], before[i]);
        continue;
      }
      EXPECT_EQ(labels[i], before[i]);
      EXPECT_GE(ids[i], 0);
      EXPECT_LT(ids[i], kVocab);
      ++in_row;
      (ids[i] == kMask ? c.masked : ids[i] == before[i] ? c.same : c.random) += 1;
    }
    EXPECT_EQ(masker.count(step, r, before), in_row);
    c.labels += in_row;
  }
  return c;
}

// Within five standard deviations of a share `p` of `of` draws.
void expect_share(int64_t got, int64_t of, double p) {
  const auto n = static_cast<double>(of);
  EXPECT_NEAR(static_cast<double>(got), n * p, 5 * std::sqrt(n * p * (1 - p))) << p;
}

TEST(MlmMasks, SharesAreThoseOfBert) {
  const TokenMasker masker(options());
  const Counts c = count(masker, 3, 2000, 103);
  ASSERT_EQ(c.words, 2000 * 100);
  expect_share(c.labels, c.words, 0.15);
  expect_share(c.masked, c.labels, 0.8);
  // A random token is the true one or the mask token once in a thousand times each.
  expect_share(c.random, c.labels, 0.1);
  expect_share(c.same, c.labels, 0.1);
  const Counts most = count(TokenMasker(options(0.4)), 3, 500, 103);
  expect_share(most.labels, most.words, 0.4);
  EXPECT_EQ(count(TokenMasker(options(0)), 3, 50, 103).labels, 0);
  const Counts all = count(TokenMasker(options(1)), 3, 50, 103);
  EXPECT_EQ(all.labels, all.words);
}

TEST(MlmMasks, RandomTokensAreEven) {
  MaskOptions o = options(1);
  o.vocab = 10;
  std::vector<int64_t> drawn(10);
  int64_t total = 0;
  for (int64_t r = 0; r < 2000; ++r) {
    std::vector<int32_t> ids = row_of(r, 103), labels(ids.size());
    TokenMasker(o).mask(0, r, ids, labels);
    for (size_t i = 0; i < ids.size(); ++i)
      if (labels[i] >= 10 && ids[i] != labels[i] && ids[i] != kMask)
        ++drawn[static_cast<size_t>(ids[i])], ++total;
  }
  for (size_t id = 0; id < drawn.size(); ++id) {
    if (id == kMask) continue;
    expect_share(drawn[id], total, 1.0 / 9);
  }
}

TEST(MlmMasks, BatchesDoNotMatterStepsDo) {
  const TokenMasker masker(options());
  // The same three rows: in one micro-batch, or in another order after another one, with slack.
  TokenRows rows;
  for (int64_t r = 0; r < 4; ++r) rows.add(row_of(r, 40 + r));
  const auto packed = [&](const std::vector<int64_t>& order, size_t tokens, int64_t step) {
    std::vector<int32_t> ids(tokens), positions(tokens), labels(tokens), cu(6);
    EXPECT_TRUE(pack_rows(rows, {order, {}}, {ids, positions, cu, {}}).ok());
    std::map<int64_t, std::pair<std::vector<int32_t>, std::vector<int32_t>>> found;
    for (size_t k = 0; k < order.size(); ++k) {
      const auto begin = static_cast<size_t>(cu[k]), n = static_cast<size_t>(cu[k + 1]) - begin;
      const auto own = std::span(ids).subspan(begin, n),
                 wanted = std::span(labels).subspan(begin, n);
      masker.mask(step, order[k], own, wanted);
      found[order[k]] = {{own.begin(), own.end()}, {wanted.begin(), wanted.end()}};
    }
    return found;
  };
  const auto one = packed({0, 1, 2}, 128, 5), other = packed({3, 2, 1, 0}, 192, 5);
  for (int64_t r = 0; r < 3; ++r) EXPECT_EQ(one.at(r), other.at(r));
  EXPECT_NE(one.at(0), packed({0}, 64, 6).at(0));
  EXPECT_EQ(packed({0}, 64, -1), packed({0}, 128, -1));
  EXPECT_NE(one.at(0).first, one.at(1).first);
  MaskOptions another = options();
  another.seed = 43;
  EXPECT_NE(TokenMasker(another).count(0, 0, row_of(0, 1000)),
            TokenMasker(options()).count(0, 0, row_of(0, 1000)));
}

TEST(MlmMasks, RoomIsSeldomTooSmall) {
  EXPECT_EQ(label_rows_of(64, 0.15), 32);
  EXPECT_EQ(label_rows_of(2048, 0.15), 384);
  EXPECT_EQ(label_rows_of(8, 0.15), 8);
  EXPECT_EQ(label_rows_of(100, 1), 100);
  EXPECT_EQ(label_rows_of(100, 0), 1);
}

}  // namespace
}  // namespace hone
