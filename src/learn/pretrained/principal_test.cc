// Singular values of matrices that are made from known ones.
#include "learn/pretrained/principal.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/core/philox.h"

namespace hone {
namespace {

// U diag(values) V with random orthogonal U and V.
std::vector<float> made_matrix(int64_t m, int64_t n, const std::vector<double>& values) {
  PhiloxStream random(dropout_key(7, 0, 0));
  const auto vectors = [&](int64_t length) {
    std::vector<std::vector<double>> all;
    for (size_t k = 0; k < values.size(); ++k) {
      std::vector<double> x;
      for (int64_t i = 0; i < length; ++i) x.push_back(random.next_normal());
      for (int turn = 0; turn < 2; ++turn)
        for (const auto& other : all) {
          double sum = 0;
          for (size_t i = 0; i < x.size(); ++i) sum += x[i] * other[i];
          for (size_t i = 0; i < x.size(); ++i) x[i] -= sum * other[i];
        }
      double square = 0;
      for (const double v : x) square += v * v;
      for (double& v : x) v /= std::sqrt(square);
      all.push_back(x);
    }
    return all;
  };
  const auto left = vectors(m), right = vectors(n);
  std::vector<float> w;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (size_t k = 0; k < values.size(); ++k)
        sum += left[k][static_cast<size_t>(i)] * values[k] * right[k][static_cast<size_t>(j)];
      w.push_back(static_cast<float>(sum));
    }
  return w;
}

// The largest difference between W and its parts.
double rest_of(const std::vector<float>& w, const PrincipalParts& p, int64_t m, int64_t n) {
  const auto r = static_cast<int64_t>(p.values.size());
  double most = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = static_cast<double>(w[static_cast<size_t>(i * n + j)]);
      for (int64_t k = 0; k < r; ++k)
        sum -= p.left[static_cast<size_t>(i * r + k)] * p.values[static_cast<size_t>(k)] *
               p.right[static_cast<size_t>(k * n + j)];
      most = std::max(most, std::abs(sum));
    }
  return most;
}

TEST(PrincipalParts, OfTallWideAndSmallMatrices) {
  ThreadPool threads(2);
  // Equal ones have vectors of their own; of zeros there are none.
  const std::vector<double> values{9, 4, 4, 1, 0.5, 0.01};
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{20, 13}, {13, 20}, {6, 6}, {70, 64}}) {
    const std::vector<float> w = made_matrix(m, n, values);
    for (const bool exact : {true, false}) {
      const PrincipalParts all = exact ? principal_parts(w, m, n, 6, threads)
                                       : principal_parts_by_iteration(w, m, n, 6, 2, 1, threads);
      for (size_t k = 0; k < values.size(); ++k)
        EXPECT_NEAR(all.values[k], values[k], 1e-5) << m << " " << n << " " << k;
      EXPECT_LT(rest_of(w, all, m, n), 1e-5);
    }
    // The rest of three parts has the next value.
    const PrincipalParts some = principal_parts(w, m, n, 3, threads);
    EXPECT_LT(rest_of(w, some, m, n), 1);
    EXPECT_NEAR(some.values[2], 4, 1e-5);
  }
}

TEST(PrincipalParts, OneRowAndZeros) {
  ThreadPool threads(1);
  const std::vector<float> row{3, 0, 4};
  const PrincipalParts one = principal_parts(row, 1, 3, 2, threads);
  EXPECT_NEAR(one.values[0], 5, 1e-6);
  EXPECT_EQ(one.values[1], 0);
  EXPECT_LT(rest_of(row, one, 1, 3), 1e-6);
  const std::vector<float> zeros(12);
  const PrincipalParts none = principal_parts(zeros, 3, 4, 2, threads);
  EXPECT_EQ(none.values[0], 0);
  EXPECT_EQ(rest_of(zeros, none, 3, 4), 0);
}

// The same bits for any number of threads: a continued run computes them again.
TEST(PrincipalParts, DoNotDependOnThreads) {
  std::vector<float> w(40 * 30);
  PhiloxStream random(dropout_key(3, 0, 0));
  for (float& x : w) x = static_cast<float>(random.next_normal());
  ThreadPool one(1), three(3);
  EXPECT_EQ(principal_parts(w, 40, 30, 5, one).left, principal_parts(w, 40, 30, 5, three).left);
  EXPECT_EQ(principal_parts_by_iteration(w, 40, 30, 5, 4, 9, one).right,
            principal_parts_by_iteration(w, 40, 30, 5, 4, 9, three).right);
}

}  // namespace
}  // namespace hone
